/** The links of real decisions: they come in through `cstp import`, those out of the set are reported, and the graph can be walked. */
import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Pep, pepLines } from '../../docs/demo/peps.ts'
import { bareEnv, cstp, testDir, testService } from '../support/process.ts'
import { sharedText } from '../support/shared.ts'

const text = sharedText('data/peps.jsonl')

interface Graph {
  nodes: { id: string; title: string; depth: number; in_degree: number; out_degree: number }[]
  edges: { source_id: string; target_id: string; edge_type: string }[]
  truncated: boolean
}

test.skipIf(text === null)(
  '75 links load, those out of the set are reported, and a chain is walked',
  async () => {
    const dir = await testDir()
    const service = await testService(bareEnv(dir, { CSTP_LOG_LEVEL: 'error', CSTP_RATE_LIMIT: '0' }))
    const env = bareEnv(dir, { CSTP_PORT: new URL(service.url).port })

    const rows: Pep[] = text!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const named = rows.flatMap(({ requires, replaces, superseded_by }) => [...requires, ...replaces, ...superseded_by])
    const known = new Set(rows.map(({ source }) => source))
    const outside = named.filter((number) => !known.has(`PEP ${number}`))
    expect([named.length, named.length - outside.length]).toEqual([104, 97])

    const file = join(dir, 'peps.jsonl')
    await writeFile(
      file,
      pepLines(rows, true)
        .map((line) => JSON.stringify(line))
        .join('\n'),
    )
    const { out, err, status } = await cstp(['import', file, '--json'], env)
    expect(status, err).toBe(1)
    const summary = JSON.parse(out.trim().split('\n').at(-1)!)
    expect(summary).toMatchObject({ imported: 679, linked: 75, skipped: 0 })
    for (const number of outside) expect(out + err).toContain(`PEP ${number}`)

    const call = async (method: string, params: object) => {
      const ended = await cstp(['call', method, JSON.stringify(params), '--json'], env)
      expect(ended.err).toBe('')
      return JSON.parse(ended.out)
    }
    const page = async (offset: number) =>
      (await call('listDecisions', { limit: 500, offset })).decisions as { id: string; source_key: string }[]
    const sources = new Map([...(await page(0)), ...(await page(500))].map(({ id, source_key }) => [id, source_key]))
    const idOf = (source: string) => [...sources].find(([, key]) => key === source)![0]
    // PEP 241 was superseded by 314, that by 345, that by 566, which supersedes 426 as well.
    const graph = (await call('getGraph', {
      decision_id: idOf('PEP 241'),
      depth: 5,
      edge_types: ['supersedes'],
    })) as Graph
    expect(graph.truncated).toBe(false)
    const depths = graph.nodes.map(({ id, depth }) => [sources.get(id), depth])
    expect(depths).toEqual(
      expect.arrayContaining([
        ['PEP 241', 0],
        ['PEP 314', 1],
        ['PEP 345', 2],
        ['PEP 566', 3],
      ]),
    )
    for (const { source_id, target_id, edge_type } of graph.edges) {
      expect(edge_type).toBe('supersedes')
      expect(Number(sources.get(source_id)!.slice(4)) > Number(sources.get(target_id)!.slice(4))).toBe(true)
    }
  },
  120_000,
)
