/** Runs the protocol's own conformance suite against a server. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../support/process.ts'
import { tokens } from '../../support/serving.ts'

export interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

/** The checks of every scenario that ran. @param url address of the server */
export async function runSuite(url: string, revision: string): Promise<Map<string, Check[]>> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-conformance-'))
  try {
    const suite = ['server', '--url', url, '--suite', 'all', '--spec-version', revision, '--output-dir', dir]
    const child = Bun.spawn([process.execPath, '--bun', join(root, 'node_modules/.bin/conformance'), ...suite], {
      cwd: dir,
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await child.exited
    const found = new Map<string, Check[]>()
    for (const name of await readdir(dir)) {
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '')
      found.set(scenario, JSON.parse(await readFile(join(dir, name, 'checks.json'), 'utf8')))
    }
    return found
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** The suite can send no credentials: this adds those of an agent. */
export const withCredentials = (target: string): Bun.Server<undefined> =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, self) {
      self.timeout(request, 0)
      const headers = new Headers(request.headers)
      headers.set('authorization', `Bearer ${tokens.ada}`)
      const { pathname } = new URL(request.url)
      const { method, body, signal } = request
      const response = await fetch(target + pathname, { method, headers, body, signal })
      return new Response(response.body, { status: response.status, headers: response.headers })
    },
  })
