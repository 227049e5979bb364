/** cstp.recordThought: before a decision it waits in a session, after one it is appended to it, on every store. */

import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

forEachBackend((open) => {
  const think = (program: TestProgram, text: string, names: object = {}) =>
    program.call('recordThought', { text, ...names })
  const stepsOf = async ({ call }: TestProgram, id: string) =>
    (await call('getDecision', { id })).deliberation?.steps.map(({ thought }) => thought) ?? []

  test('agents, their sub-agents and scopes are distinguished; a record takes its own key alone', async () => {
    const program = await open()
    await think(program, 'alice')
    await think(program, 'helper', { agent_id: 'helper' })
    await think(program, 'scoped', { tracker_scope: 'task-1' })
    await think(program, 'both', { agent_id: 'helper', tracker_scope: 'task-1' })
    await program.call('recordThought', { text: 'bob' }, 'bob')
    // A name that another agent gives is not that agent.
    await program.call('recordThought', { text: 'not alice', agent_id: 'alice' }, 'bob')
    const taken = async (given: Record<string, unknown>, as?: 'bob') =>
      stepsOf(program, await program.record(given, as))
    expect(await taken({})).toEqual(['alice'])
    expect(await taken({ decision_id: 'task-1' })).toEqual(['scoped'])
    expect(await taken({ agent_id: 'helper' })).toEqual(['helper'])
    expect(await taken({ agent_id: 'helper', decision_id: 'task-1' })).toEqual(['both'])
    expect(await taken({}, 'bob')).toEqual(['bob'])
    expect(await taken({ agent_id: 'alice' }, 'bob')).toEqual(['not alice'])
    expect(await taken({ decision_id: 'task-2' })).toEqual([])
  })

  test('after a decision its recorder and curators append thoughts to it', async () => {
    const program = await open()
    await think(program, 'before')
    const id = await program.record()
    const appended = await program.call('recordThought', { text: 'after', decision_id: id.slice(0, -2) }, 'curator')
    expect(appended).toEqual({
      success: true,
      mode: 'post-decision',
      agent_id: null,
      decision_id: id,
      step_number: 2,
    })
    const { deliberation } = await program.call('getDecision', { id })
    expect(deliberation!.steps[1]).toMatchObject({ step: 2, type: 'reasoning', thought: 'after', agent: 'curator' })
    expect((await program.refused('recordThought', { text: 'no', decision_id: id }, 'bob')).error).toBe('forbidden')
    expect(await stepsOf(program, await program.record({}, 'bob'))).toEqual([])
  })

  test('ten thoughts at once on two servers are ten steps', async () => {
    const one = await open()
    const two = await one.second()
    const id = await one.record()
    const numbers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 ? one : two).call('recordThought', { text: `t${at}`, decision_id: id }),
      ),
    )
    expect(numbers.map(({ step_number }) => step_number!).sort((a, b) => a - b)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
    expect(new Set(await stepsOf(one, id)).size).toBe(10)
  })
})
