/** The page of HTTP paths is that of a running service: its paths, their methods, who needs a token, and every status. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { explained, paths } from '../../src/generate/http.ts'
import { root } from '../support/process.ts'
import { type Running, startServing } from '../support/serving.ts'

let running: Running
beforeAll(async () => {
  running = await startServing({
    CSTP_GITHUB_WEBHOOK_SECRET: 'a-secret-of-this-test',
    CSTP_OIDC_ISSUER: 'https://issuer.example',
    CSTP_OIDC_CLIENT_ID: 'dashboard',
  })
})
afterAll(() => running?.stop())

describe.each(paths.map((one) => [one.path, one] as const))('%s', (path, { methods, login, statuses }) => {
  test('takes these methods, and needs a token if the page says so', async () => {
    const options = await running.fetch(path, { method: 'OPTIONS', as: null })
    expect({ status: options.status, allow: options.headers.get('allow') }).toEqual({
      status: 204,
      allow: [...methods, 'OPTIONS'].join(', '),
    })
    const { status } = await running.fetch(path, { method: methods[0]!, as: null, redirect: 'manual' })
    // A login of the dashboard and a webhook's delivery are refused for what they carry.
    if (path !== '/dashboard/session' && path !== '/webhooks/github') expect(status === 401).toBe(login !== null)
    expect(statuses).toContain(status)
  })
})

async function sources(): Promise<string> {
  const folder = join(root, 'src/surfaces')
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const read = [...files.map((file) => join(folder, file)), join(root, 'src/app/routes.ts')]
  return (await Promise.all(read.map((file) => readFile(file, 'utf8')))).join('\n')
}

test('every path of the source is on the page', async () => {
  const named = [...(await sources()).matchAll(/^\s+(?:\[)?'(\/[\w./-]+)'(?:: |,)/gm)].map(([, path]) => path!)
  expect(named.length).toBeGreaterThan(10)
  const known = new Set(paths.map(({ path }) => path))
  expect(named.filter((path) => !known.has(path))).toEqual([])
})

test('every status of the source, and of a path, is explained', async () => {
  const text = await sources()
  const found = [...text.matchAll(/(?:plainError|refuse|status)[(: ]+(\d{3})\b/g)].map(([, status]) => Number(status))
  expect(found.length).toBeGreaterThan(15)
  const wanted = [...found, 405, ...paths.flatMap(({ statuses }) => statuses)]
  expect(wanted.filter((status) => !explained.has(status))).toEqual([])
})
