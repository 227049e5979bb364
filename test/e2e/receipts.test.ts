/** A server with a witness, and an auditor with nothing but files: receipts and the exported log, verified offline. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serveWitness } from '../../src/transparency/open.ts'
import { witness as madeWitness } from '../support/evidence/note-signers.ts'
import { bareEnv, cstp, root, run as runCommand, type Service, serve, temporaryDir } from '../support/process.ts'
import { buildGo, whyNoGo } from '../support/sumdb/go.ts'

let dir = ''
let service: Service
let witness: Awaited<ReturnType<typeof serveWitness>>
let key = ''
const at = (name: string) => join(dir, name)
const env = () => bareEnv(dir, { CSTP_LOG_LEVEL: 'warn' })
/** An auditor has the files and the program. */
const audit = (...args: string[]) => cstp(['verify', ...args], { PATH: process.env.PATH ?? '', HOME: '/nonexistent' })
const call = async (...args: string[]) => {
  const { status, out, err } = await cstp([...args, '--url', service.url, '--json'], env())
  if (status !== 0) throw new Error(err)
  return out
}

beforeAll(async () => {
  dir = await temporaryDir('cstp-receipts-')
  service = await serve(env())
  key = JSON.parse(await call('log', 'key')).verifier_key
  witness = await serveWitness({
    ...{ host: '127.0.0.1', port: 0, state_dir: at('witness'), key_path: undefined, name: 'witness.example/1' },
    logs: [key],
    handled: () => {},
  })
  const policy = `log ${key}\nwitness w ${witness.verifier_key} ${witness.url}\nquorum w\n`
  await writeFile(at('witnesses.txt'), policy)
  await service.stop()
  service = await serve({ ...env(), CSTP_WITNESSES: at('witnesses.txt') })
})
afterAll(async () => {
  await service.stop()
  await witness.stop()
  await rm(dir, { recursive: true, force: true })
})

test('the receipt of a decision is verified by the policy, and a changed one is not', async () => {
  const { decision_id } = JSON.parse(
    await call('record', 'Use SQLite', '--category', 'architecture', '--confidence', '0.8'),
  )
  const text = await call('call', 'getReceipt', `decision_id=${decision_id}`)
  await writeFile(at('receipt.json'), text)
  const good = await audit(at('receipt.json'), '--policy', at('witnesses.txt'))
  expect(good).toMatchObject({ status: 0, err: '' })
  expect(good.out).toContain('The witnesses that the policy requires saw this state of the log')
  await writeFile(at('changed.json'), text.replace('Use SQLite', 'Use Oracle'))
  const bad = await audit(at('changed.json'), '--policy', at('witnesses.txt'))
  expect(bad.status).toBe(1)
  expect(bad.out).toContain('do not give the commitment')
})

/** The lines of the page for auditors that have to hold, or to fail. */
const linesOf = (page: string, kind: 'hold' | 'fail'): string[] =>
  [...page.matchAll(/^```sh (.+)\n([\s\S]*?)^```$/gm)].flatMap(([, info, block]) =>
    info!.endsWith(`by a test of its own, in which these ${kind}`) ? block!.trim().split('\n') : [],
  )

test('verifiers of a few lines agree, as the page for auditors runs them: Python, and Go where it is', async () => {
  const page = await readFile(join(root, 'docs/verify/README.md'), 'utf8')
  await writeFile(at('log.key'), `${key}\n`)
  await writeFile(at('witness.key'), `${witness.verifier_key}\n`)
  await writeFile(at('other-witness.key'), madeWitness('witness.example/2').verifier_key)
  await copyFile(at('changed.json'), at('forged.json'))
  await copyFile(join(root, 'docs/verify/verify.py'), at('verify.py'))
  if (whyNoGo === null) await buildGo(join(root, 'docs/verify/verify.go'), at('verify-go'))
  const has = { python3: Bun.which('python3') !== null, go: whyNoGo === null }
  let counted = 0
  for (const kind of ['hold', 'fail'] as const)
    for (const line of linesOf(page, kind)) {
      if (!has[line.split(' ')[0] as keyof typeof has]) continue
      const script = line.replace('go run verify.go', './verify-go')
      const { status, out, err } = await runCommand(['bash', '-c', script], {
        cwd: dir,
        env: { PATH: process.env.PATH! },
      })
      expect([line, status, out + err]).toEqual([
        line,
        kind === 'hold' ? 0 : 1,
        expect.stringMatching(kind === 'hold' ? /^valid: entry/ : /REFUSED/),
      ])
      counted++
    }
  expect(counted).toBe(4 * (Number(has.python3) + Number(has.go)))
}, 120_000)

test('the log is exported as files, more of it later, and verified; from the data directory too', async () => {
  const first = JSON.parse(await call('log', 'export', at('log')))
  expect(first).toMatchObject({ kept: 0, origin: key.split('+')[0] })
  await call('record', 'Turn on WAL', '--category', 'architecture', '--confidence', '0.8')
  expect((await audit(at('log'), '--key', key)).status).toBe(0)
  expect((await audit(at('log'), '--policy', at('witnesses.txt'))).status).toBe(0)
  await service.stop()
  const local = await cstp(['log', 'export', at('log'), '--local', '--json'], env())
  expect(local).toMatchObject({ status: 0, err: '' })
  expect(JSON.parse(local.out).size).toBeGreaterThan(first.size)
  expect((await audit(at('log'), '--key', key)).status).toBe(0)
  const checkpoint = await readFile(at('log/checkpoint'), 'utf8')
  await writeFile(at('log/checkpoint'), checkpoint.replace(/\n\d+\n/, `\n${first.size}\n`))
  expect((await audit(at('log'), '--key', key)).status).toBe(1)
  service = await serve(env())
})

test('a policy that is wrong stops the start, with the line', async () => {
  await writeFile(at('wrong.txt'), 'witness w nonsense\nquorum w\n')
  for (const [policy, message] of [
    ['wrong.txt', 'line 1: expected a key'],
    ['none.txt', "can't be read"],
  ] as const) {
    const { status, err } = await cstp(['serve', '--port', '0'], { ...env(), CSTP_WITNESSES: at(policy) })
    expect(status).toBe(1)
    expect(err).toContain(message)
    expect(err).toContain('CSTP_WITNESSES')
  }
})
