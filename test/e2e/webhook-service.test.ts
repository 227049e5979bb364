/** GitHub's webhook on the real service: every published example, what is recorded of it, and that it is off by default. */
import { expect, test } from 'bun:test'
import * as gh from '../support/github.ts'
import { testDir, testServer } from '../support/process.ts'

const env = { CSTP_GITHUB_WEBHOOK_SECRET: gh.secret, CSTP_GITHUB_BOTS: 'coder' }

interface Answer {
  ingested: number
  first_seq: number | null
  message: string
}

test('without a secret there is no webhook', async () => {
  const dir = await testDir()
  const server = await testServer({ dir })
  expect((await gh.post(server.url, gh.pullRequest('opened'))).status).toBe(404)
})

test('every published example is answered; a right one is recorded, audited and counted', async () => {
  const dir = await testDir()
  const server = await testServer({ dir, env })
  let ingested = 0
  for (const example of gh.examples()) {
    const response = await gh.post(server.url, example)
    expect([example.kind, response.status]).toEqual([example.kind, 200])
    ingested += ((await response.json()) as Answer).ingested
  }
  expect(ingested).toBeGreaterThan(15)
  const forged = await gh.post(server.url, gh.closed(), { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` })
  expect(forged.status).toBe(401)
  const misnamed = await gh.post(server.url, { ...gh.closed(), kind: 'pull_request_review' })
  expect(misnamed.status).toBe(422)

  const response = await gh.post(server.url, gh.closed(), { 'x-github-delivery': 'the-last' })
  const { first_seq } = (await response.json()) as Answer
  expect(first_seq).toBe(ingested + 1)
  const again = (await (await gh.post(server.url, gh.closed())).json()) as Answer
  expect(again).toMatchObject({ ingested: 0, first_seq })

  const { entries } = await server.call('listAudit', { agent: 'webhook:github', limit: 1 })
  expect(entries).toMatchObject([
    { agent: 'webhook:github', detail: { kind: 'pull_request', delivery_id: 'the-last', ingested: 1, first_seq } },
  ])
  const token = (await Bun.file(`${dir}/token`).text()).trim()
  const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer local:${token}` } })
  const text = await metrics.text()
  expect(text).toContain('cstp_webhook_deliveries_total{result="repeated"} 1')
  expect(text).toContain('cstp_webhook_deliveries_total{result="unauthorized"} 1')
  await server.kill()
  expect(await server.log()).not.toContain(gh.secret)
})
