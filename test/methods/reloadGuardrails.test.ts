/** cstp.reloadGuardrails: reads the files now; wrong ones leave the last good rules in force. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('what it found is reported, and leaves a line in the trail', async () => {
    const program = await open()
    const { call, services } = program
    await program.rules('- { id: r, message: m, condition_stakes: critical }')
    const policy_hash = (await services.policy.current()).hash
    expect(await call('reloadGuardrails', {}, 'root')).toEqual({ success: true, total: 1, policy_hash, errors: [] })
    services.policy.reload = async () => [
      { file: '/etc/cstp/rules/bad.yaml', line: 2, column: 1, message: 'unknown field' },
    ]
    expect(await call('reloadGuardrails', {}, 'root')).toMatchObject({
      success: false,
      total: 1,
      policy_hash,
      errors: [{ file: 'bad.yaml', line: 2, message: 'unknown field' }],
    })
    const { entries } = await call('listAudit', { method: 'cstp.reloadGuardrails' }, 'root')
    expect(entries.map(({ detail }) => detail)).toEqual([
      { policy_hash, errors: 1 },
      { policy_hash, errors: 0 },
    ])
  })
})
