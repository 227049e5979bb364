/** A log behind a real socket whose history a test can replace, as an attacker with the server's disk could. */
import { generateKeyPairSync } from 'node:crypto'
import { openMemoryEvidence } from '../../../docs/examples/driver/evidence.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import { createDispatch } from '../../../src/calls/dispatch.ts'
import type { Services } from '../../../src/calls/services.ts'
import { createCheckpoints } from '../../../src/domain/ledger/engine/checkpoints.ts'
import { type Signer, signerOf } from '../../../src/domain/ledger/engine/note.ts'
import { methods } from '../../../src/methods/table.ts'
import { evidenceRoutes } from '../../../src/surfaces/http/evidence.ts'
import { createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import { serviceOf } from '../../surfaces/http/service.ts'
import { append } from './log.ts'

export const newSigner = (name = 'log.test/a'): Signer => signerOf(name, generateKeyPairSync('ed25519').privateKey)

/** A history of so many records; those from `forged_from` on are others. */
export async function history(size: number, forged_from = size): Promise<Evidence> {
  const evidence = openMemoryEvidence()
  await append(evidence, forged_from)
  await append(evidence, size - forged_from, 'forged')
  return evidence
}

export interface LogServer {
  url: string
  /** Serves another history, as a server that was started on it would. */
  show(evidence: Evidence, signer?: Signer): void
  /** Answers a path by itself; null as before. */
  fake: ((path: string) => Response | null) | null
  asked: string[]
  stop(): Promise<void>
}

export async function serveLog(first: Evidence, signer: Signer): Promise<LogServer> {
  const log = Object.assign(() => {}, { flush() {} })
  let routed: ReturnType<typeof serviceOf>
  const show = (evidence: Evidence, own = signer) => {
    const checkpoints = createCheckpoints({ evidence, signer: own, now: Date.now })
    // The methods of the log use nothing else, and write nothing to the store.
    const services: Partial<Services> = { store: {} as Store, evidence, signer: own, checkpoints, log, now: Date.now }
    const routes = evidenceRoutes({
      dispatch: createDispatch(methods, services as Services, () => {}, { verify_results: true }),
      reads: createRateLimiter({ per_minute: 0, burst: 0, now: Date.now }),
      trust_proxy: 0,
      verifier_key: own.verifier_key,
      bundle_dir: '/nonexistent',
    })
    routed = serviceOf({ routes })
  }
  show(first)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const path = request.url.slice(request.url.indexOf('/', 8))
      served.asked.push(path)
      return served.fake?.(path) ?? routed.fetch(request, '127.0.0.1')
    },
  })
  const served: LogServer = {
    url: `http://127.0.0.1:${server.port}`,
    show,
    fake: null,
    asked: [],
    stop: () => server.stop(true),
  }
  return served
}
