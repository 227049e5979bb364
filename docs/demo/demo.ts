/** The main use case on real decisions: starts its own service, imports decisions, asks ten questions, and removes everything afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { loadSettings } from '../../src/app/config/config.ts'
import { serve } from '../../src/app/server.ts'
import { parseFlags } from '../../src/cli/args.ts'
import { type Connection, connect } from '../../src/cli/connection.ts'
import { describe, statusOf } from '../../src/cli/failure.ts'
import { load } from '../../src/cli/import-load.ts'
import { type Get, openRemote } from '../../src/cli/remote.ts'
import { openLog, openProgress, openTerminal, type Terminal } from '../../src/cli/terminal.ts'
import { type Material, pepMaterial, shopMaterial } from './material.ts'
import { showAnswer } from './show.ts'

/** Flag that selects the small set even if the large one exists; settings are flags as well. */
const small = '--small'

/** Waits for the vectors of decisions that were recorded without them; a busy machine computes some later. */
async function untilIndexed(get: Get): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const metrics = await (await get('/metrics')).text()
    if (/^cstp_outbox_depth 0$/m.test(metrics)) return
    await Bun.sleep(200)
  }
}

async function takeIn({ lines, about }: Material, connection: Connection, get: Get, terminal: Terminal): Promise<void> {
  const progress = openProgress(terminal)
  const done = await load(lines, {
    connection,
    problem: (line, reason) => progress.note(`line ${line}: ${reason}`),
    progress: (_, count) => progress.show(null, `${count} decisions taken in`),
  })
  if (done.unindexed > 0) await untilIndexed(get)
  progress.end()
  const { imported, reviewed, linked, seconds, per_second } = done
  const { bold, dim } = terminal.paint
  const how = `${reviewed} of them with an outcome, ${linked} links; taken in within ${seconds} s, ${per_second} per second`
  await terminal.out(`\n${bold(`${imported} ${about}`)}\n${dim(how)}\n\n`)
}

async function ask(connection: Connection, question: string) {
  const found = await connection.call('queryDecisions', { query: question, retrieval_mode: 'hybrid', limit: 3 })
  const ids = found.decisions.flatMap(({ id, superseded_by }) => (superseded_by ? [id, superseded_by] : [id]))
  const records = new Map<string, DecisionRecord>()
  for (const id of ids) records.set(id, await connection.call('getDecision', { id }))
  return { question, found, records }
}

async function demo(terminal: Terminal): Promise<void> {
  const args = process.argv.slice(2)
  const { settings: chosen } = parseFlags(
    args.filter((arg) => arg !== small),
    {},
  )
  const data_dir = await mkdtemp(join(tmpdir(), 'cstp-demo-'))
  const remove = () => rm(data_dir, { recursive: true, force: true })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => void remove().finally(() => process.exit(130)))
  try {
    const own = { '--port': '0', '--rate-limit': '0', '--log-level': 'error' }
    const configuration = await loadSettings({
      env: {},
      flags: { ...own, ...chosen, '--data-dir': data_dir },
      readFile: (path) => Bun.file(path).text(),
    })
    const log = openLog(configuration)
    const serving = await serve(configuration.settings, log)
    try {
      const { send, get } = await openRemote({ url: serving.url, data_dir, admin: 'always' })
      const connection = connect(send)
      const material = (args.includes(small) ? null : await pepMaterial()) ?? shopMaterial()
      await takeIn(material, connection, get, terminal)
      for (const [index, question] of material.questions.entries())
        await terminal.out(showAnswer(index + 1, await ask(connection, question), terminal.width, terminal.paint))
    } finally {
      await serving.stop()
      log.flush()
    }
  } finally {
    await remove()
  }
}

const terminal = openTerminal(process.env)
try {
  await demo(terminal)
} catch (error) {
  terminal.note(`demo: ${describe(error)}\n`)
  process.exitCode = statusOf(error)
}
