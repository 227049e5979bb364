/** CSTP_AUDIT_RETENTION_DAYS: what is over goes by itself, on every store, and leaves a line that says so. */
import { expect, test } from 'bun:test'
import { startRetention } from '../../src/app/retention.ts'
import { linkMethod } from '../../src/domain/evidence/content.ts'
import { forEachBackend } from '../support/program.ts'

const dayMs = 86_400_000

forEachBackend((open) => {
  test('lines of the trail go after their days, but for digests of links; the sweep repeats by itself until it is closed', async () => {
    const program = await open()
    const { store, clock } = program
    const check = () => program.call('checkGuardrails', { action: { description: 'Do it' } })
    await check()
    const link = { agent: 'root', method: linkMethod, request_id: 'l', ids: [], allowed: null, rules: [], detail: null }
    await store.transaction((tx) => tx.audit.append({ ...link, at: new Date(clock.now).toISOString() }))
    const timers: { ms: number; run: () => void }[] = []
    const failures: unknown[] = []
    const retention = startRetention({
      store,
      days: 30,
      now: () => clock.now,
      after: (ms, run) => {
        timers.push({ ms, run })
        return () => void timers.splice(0)
      },
      failed: (error) => failures.push(error),
    })
    const methods = async () => (await store.audit.list({ limit: 9 })).map(({ method }) => method)
    clock.now += 30 * dayMs
    await check()
    expect(await retention.sweep()).toBe(0)
    clock.now += 1
    expect(timers.map(({ ms }) => ms)).toEqual([0])
    timers.shift()!.run()
    while (timers.length === 0) await Bun.sleep(1)
    expect(timers.map(({ ms }) => ms)).toEqual([3_600_000])
    expect(await methods()).toEqual(['audit.retention', 'cstp.checkGuardrails', linkMethod])
    const [line] = (await program.call('listAudit', { method: 'audit.retention' }, 'root')).entries
    const before = new Date(clock.now - 30 * dayMs).toISOString()
    expect(line).toMatchObject({ agent: 'cstp', allowed: null, detail: { removed: 1, before } })
    clock.now += 365 * dayMs
    expect(await retention.sweep()).toBe(1)
    expect(await methods()).toEqual(['audit.retention', 'audit.retention', linkMethod])
    await retention.close()
    expect([timers, failures]).toEqual([[], []])
  })
})
