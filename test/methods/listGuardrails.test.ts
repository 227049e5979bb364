/** cstp.listGuardrails: what is wrong with the files of rules. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('shows what is wrong with the files, without their folder', async () => {
    const { call, services } = await open()
    services.policy.errors = () => [{ file: '/etc/cstp/rules/bad.yaml', line: 2, column: 1, message: 'unknown field' }]
    expect((await call('listGuardrails')).errors).toMatchObject([{ file: 'bad.yaml', line: 2 }])
  })
})
