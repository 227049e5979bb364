/** The page of the gateway's tools in a real browser: what waits, with its difference, and that one accepts what one saw. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Browser, Page } from 'playwright-core'
import { type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { toolServer } from '../surfaces/gateway/gateway.ts'
import { executable, launch, logIn, open, settled, spill, violations, visit, type Watched } from './browser.ts'
import { hostile, people } from './place.ts'

setDefaultTimeout(120_000)

describe.skipIf(!executable)('tools on the dashboard', () => {
  let dir: string
  let server: RunningServer
  let browser: Browser
  let watched: Watched
  let page: Page
  let client: Client
  const change = (tools: object) => writeFile(join(dir, 'behind', 'tools.json'), JSON.stringify(tools))

  beforeAll(async () => {
    dir = await temporaryDir('cstp-pins-')
    await mkdir(join(dir, 'behind'))
    const upstream = { tools: { command: [process.execPath, toolServer, join(dir, 'behind')] } }
    const env = {
      CSTP_AUTH_TOKENS: `root:${people.root},coder:${people.coder}`,
      CSTP_GATEWAY: JSON.stringify(upstream),
    }
    ;[server, browser] = await Promise.all([startServer({ dir, env }), launch()])
    watched = await open(browser)
    page = watched.page
    await logIn(page, server.url, 'root', people.root)
    client = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { authorization: `Bearer coder:${people.coder}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/gateway/tools`), { requestInit }))
    await client.listTools()
    await change({
      echo: { description: `Returns its text twice. ${hostile}` },
      extra: { description: 'Something\u200b more.' },
    })
    await client.listTools()
  })
  afterAll(async () => {
    await client?.close()
    await browser?.close()
    await server?.kill()
    if (dir) await rm(dir, { recursive: true, force: true })
  })

  test('a changed tool is shown with what was removed and added, a new one with what it hides', async () => {
    await visit(page, server.url, '/tools')
    const waiting = page.getByRole('region', { name: 'Waiting: 2' })
    expect(await waiting.locator('ins').allInnerTexts()).toEqual([expect.stringContaining('text twice.')])
    expect(await waiting.locator('del').allInnerTexts()).toEqual([expect.stringContaining('text.')])
    expect(await waiting.innerText()).toContain(hostile)
    expect(await waiting.innerText()).toContain('It contains invisible characters (⟨U+200B⟩).')
    expect(await page.title()).toBe('Tools · cstp')
    const found = await violations(page, {})
    expect(found.map(({ id }) => id)).toEqual([])
    expect(watched.complaints.splice(0)).toEqual([])
  })

  test('flows at 320 px', async () => {
    const narrow = await open(browser, { width: 320, height: 640 })
    await logIn(narrow.page, server.url, 'root', people.root)
    await visit(narrow.page, server.url, '/tools')
    expect(await spill(narrow.page)).toBe(0)
    await narrow.context.close()
  })

  test('who accepts a tool that has changed since is refused; by keyboard, with a reason, it is accepted and used again', async () => {
    await visit(page, server.url, '/tools')
    await change({ echo: { description: 'Sends its text away.' } })
    await client.listTools()
    await page.getByRole('button', { name: 'Accept echo' }).click()
    await page.getByText('it has changed').first().waitFor()
    expect((await client.callTool({ name: 'echo', arguments: { text: 'x' } })).isError).toBe(true)
    await change({ echo: { description: 'Returns its text, trimmed.' } })
    await client.listTools()
    await visit(page, server.url, '/tools')
    await page.getByLabel('Why echo may be used').focus()
    await page.keyboard.type('read by the team')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'echo of tools is accepted' }).waitFor()
    await settled(page)
    expect(await page.getByRole('table', { name: 'Accepted tools' }).innerText()).toContain('root')
    expect((await client.callTool({ name: 'echo', arguments: { text: 'x' } })).isError).toBeFalsy()
    const { entries } = (await server.call('listAudit', { method: 'cstp.acceptPins' })) as {
      entries: { detail: object }[]
    }
    expect(JSON.stringify(entries)).toContain('read by the team')
  })

  test('an agent without the scope sees it, and can accept nothing', async () => {
    const other = await open(browser)
    await logIn(other.page, server.url, 'coder', people.coder)
    await visit(other.page, server.url, '/tools')
    await other.page.getByText('your agent needs the scope admin').waitFor()
    expect(await other.page.getByRole('button', { name: /^Accept/ }).count()).toBe(0)
    await other.context.close()
  })
})
