/** What the model has to know of the end of a call. */
import { expect, test } from 'bun:test'
import { openAnswers } from '../../../src/surfaces/gateway/answers.ts'
import type { Gate } from '../../../src/surfaces/gateway/gate.ts'
import { unrecorded } from '../../../src/surfaces/gateway/messages.ts'

const gate = {
  shown: async (result: object) => result,
  ended: () => Promise.reject(new Error('the disk is full')),
} as unknown as Gate
const content = [{ type: 'text', text: 'done' }]

test.each([
  ['tasks/result', { content }, { content: [...content, { type: 'text', text: unrecorded }] }],
  [
    'tasks/get',
    { status: 'completed', result: { content } },
    { status: 'completed', result: { content: [...content, { type: 'text', text: unrecorded }] } },
  ],
])('an end that could not be recorded is reported with the result of its task (%s)', async (method, result, told) => {
  const answers = openAnswers(gate, { name: 'jobs', log: (() => {}) as never, elapsed: () => 0 })
  const call = { id: '1', tool: 'run', input: {}, annotations: null }
  expect(answers.startsTask({ call, start: 0 }, { task: { taskId: 'a' } })).toBe(true)
  const answer = await answers.ofTask(method, 'a', { jsonrpc: '2.0', id: 7, result })
  expect(answer).toEqual({ jsonrpc: '2.0', id: 7, result: told })
})
