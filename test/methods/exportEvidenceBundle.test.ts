/** cstp.exportEvidenceBundle: the content of the files, their permitted folders, and that a failed export leaves nothing. */
import { afterAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { openBundleFiles } from '../../src/app/folders.ts'
import { appendEvents } from '../../src/domain/ledger/evidence/chain.ts'
import { verifyBundle } from '../../src/verify/bundle.ts'
import { readKey } from '../../src/verify/note.ts'
import { event, story } from '../support/evidence/events.ts'
import { forEachBackend, openMemoryProgram, type TestProgram, testSigner } from '../support/program.ts'

const outside = await mkdtemp(join(tmpdir(), 'cstp-export-'))
afterAll(() => rm(outside, { recursive: true, force: true }))
let folders = 0

/** A program with a folder of bundles of its own, which does not exist yet. */
async function withBundles(program: TestProgram) {
  const root = join(outside, `bundles-${folders++}`)
  program.services.bundles = openBundleFiles(root)
  const files = async () =>
    existsSync(root)
      ? (await readdir(root, { recursive: true, withFileTypes: true })).filter((one) => one.isFile())
      : []
  const fill = (count = 2) =>
    appendEvents(program.services.evidence, Array.from({ length: count }, (_, at) => story(at + 1)).flat())
  const run = (params: object = {}) => program.call('exportEvidenceBundle', params, 'root')
  return { ...program, root, files, fill, run }
}
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
async function* whole(path: string) {
  yield await readFile(path)
}
const verify = (path: string, older?: string) =>
  verifyBundle(whole(path), {
    key: readKey(testSigner.verifier_key),
    witness: null,
    older: older === undefined ? null : whole(older),
  })

forEachBackend((open) => {
  test('a decision that is rewritten after its link is reported, and one that is only reviewed is not', async () => {
    const { run, fill, record, call } = await withBundles(await open())
    await fill()
    const id = await record()
    await call('linkEvidence', { decision_id: id, event_seqs: [1] }, 'root')
    const older = (await run()).json_path!
    const against = async () => {
      const report = await verify((await run()).json_path!, older)
      return report.findings.map(({ check, message, seq }) => [check, seq, message])
    }
    await call('reviewDecision', { decision_id: id, outcome: 'success' })
    expect(await against()).toEqual([])
    await call('updateDecision', { id, updates: { decision: 'What was never approved' } })
    expect(await against()).toEqual([
      ['links', 11, `the decision ${id} was changed after event 11 linked it`],
      ['older', 11, `the decision ${id} was changed since the older bundle`],
    ])
    await call('linkEvidence', { decision_id: id, event_seqs: [1] }, 'root')
    expect(await against()).toEqual([])
  })

  test('an export makes a later truncation show, and is audited', async () => {
    const { run, fill, call } = await withBundles(await open())
    await fill()
    await call('getCheckpoint')
    expect(await call('verifyEvidenceChain')).toMatchObject({ tail_check: false, expected_hash: null })
    const { chain_head_hash } = await run()
    expect(await call('verifyEvidenceChain')).toMatchObject({ tail_check: true, expected_hash: chain_head_hash })
    const { entries } = await call('listAudit', { method: 'cstp.exportEvidenceBundle' }, 'root')
    expect(entries).toMatchObject([{ agent: 'root', detail: { format: 'json', events: 10, chain_head_hash } }])
  })
})

test('as OSCAL it is one document, of a chain that was checked', async () => {
  const { run, fill, files } = await withBundles(await openMemoryProgram())
  await fill()
  const { oscal_path, json_path, pdf_path, bundle_sha256 } = await run({ format: 'oscal' })
  expect([json_path, pdf_path]).toEqual([null, null])
  expect(basename(oscal_path!)).toMatch(/^evidence-[0-9T.]+Z-[0-9a-f-]{36}\.oscal\.json$/)
  const bytes = await readFile(oscal_path!)
  expect(sha256(bytes)).toBe(bundle_sha256)
  expect((await files()).length).toBe(1)
  const { metadata, results } = JSON.parse(bytes.toString())['assessment-results']
  expect(metadata['oscal-version']).toBe('1.2.1')
  expect(results[0].start).toBe('2026-07-01T10:00:00.000Z')
  expect(results[0].findings.length).toBeGreaterThan(10)
})

test('the same chain at the same time gives the same bytes but the id and the signature', async () => {
  const { run, fill } = await withBundles(await openMemoryProgram())
  await fill()
  const texts = await Promise.all([run(), run()].map(async (one) => readFile((await one).json_path!, 'utf8')))
  const bare = texts.map((text) => text.replace(/"bundle_id":"[^"]+"/, '').replace(/"signature":"[^"]+"/, ''))
  expect(bare[0]).toBe(bare[1]!)
  expect(texts[0]).not.toBe(texts[1]!)
})

test('exports at once never collide', async () => {
  const { run, fill, files } = await withBundles(await openMemoryProgram())
  await fill()
  const paths = (await Promise.all(Array.from({ length: 20 }, () => run({ output_dir: 'q3' })))).map(
    (one) => one.json_path,
  )
  expect(new Set(paths).size).toBe(20)
  expect((await files()).map(({ name }) => name).sort()).toEqual(paths.map((path) => basename(path!)).sort())
})

describe('the folder', () => {
  test('may be below that of the bundles, by relative or absolute path', async () => {
    const { run, root } = await withBundles(await openMemoryProgram())
    for (const [output_dir, right] of [
      ['2026/q3', join(root, '2026/q3')],
      ['./x', join(root, 'x')],
      [join(root, 'y'), join(root, 'y')],
      [root, root],
    ])
      expect(dirname((await run({ output_dir })).json_path!)).toBe(right!)
  })
  test('is never outside', async () => {
    const { refused, root, files } = await withBundles(await openMemoryProgram())
    await mkdir(root, { recursive: true })
    const elsewhere = join(outside, 'target')
    await mkdir(elsewhere)
    await symlink(elsewhere, join(root, 'link'))
    await mkdir(join(root, 'inner'))
    await symlink(join(root, 'inner'), join(root, 'harmless'))
    await writeFile(join(root, 'file'), 'x')
    const wrong = [
      '..',
      '../x',
      'a/../../x',
      'a/../b',
      '/tmp',
      `${root}x`,
      join(root, '..'),
      'link',
      'link/x',
      'harmless',
      'file',
      'file/x',
      'a\0b',
      'x'.repeat(300),
      'a\\..\\b',
    ]
    for (const output_dir of wrong) {
      const { code, data } = await refused('exportEvidenceBundle', { output_dir }, 'root')
      expect([output_dir, code, (data!.issues as { path: string }[])[0]!.path]).toEqual([
        output_dir,
        -32602,
        'output_dir',
      ])
    }
    expect((await files()).map(({ name }) => name)).toEqual(['file'])
    expect(await readdir(elsewhere)).toEqual([])
  })
  test('that became a link after it was looked at is not written to', async () => {
    const files = openBundleFiles(join(outside, 'raced'))
    const folder = (await files.folder('sub'))!
    await mkdir(join(outside, 'raced'))
    await mkdir(join(outside, 'elsewhere'))
    await symlink(join(outside, 'elsewhere'), folder)
    const content = async function* () {
      yield 'x'
    }
    await expect(files.write(folder, [{ name: 'a.json', content }])).rejects.toThrow('link')
    expect(await readdir(join(outside, 'elsewhere'))).toEqual([])
  })
})

describe('nothing is made', () => {
  test.each([
    [{ format: 'xml' }, 'format'],
    [{ format: 'json', output_dir: '' }, 'output_dir'],
    [{ output_dir: 7 }, 'output_dir'],
  ])('for %j', async (params, path) => {
    const { refused, root } = await withBundles(await openMemoryProgram())
    const { code, data } = await refused('exportEvidenceBundle', params, 'root')
    expect([code, (data!.issues as { path: string }[])[0]!.path]).toEqual([-32602, path])
    expect(existsSync(root)).toBe(false)
  })
  test('for PDF without its library', async () => {
    const { refused, services, root } = await withBundles(await openMemoryProgram())
    services.openPrinter = async () => null
    for (const format of ['pdf', 'both']) {
      const { code, message } = await refused('exportEvidenceBundle', { format, output_dir: 'a/b' }, 'root')
      expect(code).toBe(-32602)
      expect(message).toContain('pdfmake is not installed')
    }
    expect(existsSync(root)).toBe(false)
  })
  test.each(['before it is verified', 'after it was verified'])('of a chain that is damaged %s', async (when) => {
    const { refused, services, fill, root } = await withBundles(await openMemoryProgram())
    await fill()
    const { read } = services.evidence
    const damaged = async (seq: number, limit: number) =>
      (await read(seq, limit)).map((one) => (one.seq === 3 ? { ...one, payload: '{}' } : one))
    // The chain that is verified keeps the log that it was opened on.
    if (when === 'before it is verified') services.evidence.read = damaged
    else services.evidence = { ...services.evidence, read: damaged }
    const error = await refused('exportEvidenceBundle', { output_dir: 'a' }, 'root')
    expect(error.message).toContain('not intact')
    expect(error.data).toMatchObject({ chain_intact: false })
    expect(existsSync(root)).toBe(false)
  })
  test('where writing fails, or the audit trail', async () => {
    const { refused, services, fill, root } = await withBundles(await openMemoryProgram())
    await fill()
    const printer = (await services.openPrinter())!
    services.openPrinter = async () => ({ ...printer, print: async () => Promise.reject(new Error('no ink')) })
    expect((await refused('exportEvidenceBundle', { format: 'both', output_dir: 'a/b' }, 'root')).code).toBe(-32603)
    expect(existsSync(root)).toBe(false)
    const { transaction } = services.store
    Object.assign(services.store, { transaction: async () => Promise.reject(new Error('disk full')) })
    expect((await refused('exportEvidenceBundle', {}, 'root')).code).toBe(-32603)
    Object.assign(services.store, { transaction })
    expect(await readdir(root)).toEqual([])
  })
})

test('both: PDF and JSON are in the same folder', async () => {
  const { run, fill } = await withBundles(await openMemoryProgram())
  await fill()
  const { json_path, pdf_path, bundle_sha256 } = await run({ format: 'both' })
  expect(pdf_path).toBe(json_path!.replace(/json$/, 'pdf'))
  expect(bundle_sha256).toBe(sha256(await readFile(json_path!)))
  const pdf = await readFile(pdf_path!)
  expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
  expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)!.length).toBeGreaterThan(4)
})

test('a PDF of hostile texts is printed', async () => {
  const { run, services } = await withBundles(await openMemoryProgram())
  const texts = ['Zoë Ζωή Жук 中文 🙂 \u202e', 'x'.repeat(5_000), '', '\u0000\u0007', 'a\u0301', '<b>&amp;</b>']
  await appendEvents(services.evidence, [
    ...texts.map((title) => event('pr_opened', { pr_number: 1, title })),
    ...texts.filter(Boolean).map((source) => event(source, {}, { source })),
  ])
  const { pdf_path, json_path, bundle_sha256 } = await run({ format: 'pdf' })
  expect(json_path).toBe(null)
  expect(bundle_sha256).toBe(sha256(await readFile(pdf_path!)))
})
