/** cstp.debugTracker: own sessions, with admin all, and the last that a record took, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

forEachBackend((open) => {
  const think = (program: TestProgram, text: string, names: object = {}) =>
    program.call('recordThought', { text, ...names })
  const sessions = async ({ call }: TestProgram, as?: 'bob' | 'root') => (await call('debugTracker', {}, as)).sessions

  test('debugTracker shows own sessions, with admin all, and the last that were taken', async () => {
    const program = await open()
    await think(program, 'mine', { tracker_scope: 's' })
    await program.call('recordThought', { text: 'his' }, 'bob')
    const id = await program.record({ decision_id: 's' })
    await think(program, 'mine again')
    program.clock.now += 5_000
    expect(await program.call('debugTracker')).toEqual({
      sessions: [
        {
          key: 'alice',
          agent: 'alice',
          input_count: 1,
          dropped: 0,
          inputs: [
            {
              id: expect.any(String),
              type: 'thought',
              text: 'mine again',
              source: 'cstp.recordThought',
              age_seconds: 5,
            },
          ],
          idle_seconds: 5,
        },
      ],
      consumed: [{ key: 'alice|scope:s', agent: 'alice', decision_id: id, input_count: 1, age_seconds: 5 }],
    })
    expect((await sessions(program, 'bob')).map(({ agent }) => agent)).toEqual(['bob'])
    expect((await sessions(program, 'root')).map(({ agent }) => agent).sort()).toEqual(['alice', 'bob'])
  })
})
