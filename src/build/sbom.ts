/** The software bill of materials of the program, in the format CycloneDX: every package in it, from the installation that the lock file made. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packages } from '../app/licenses.ts'
import { version } from '../core/version.ts'

const purlOf = (name: string, number: string): string => `pkg:npm/${name.replace(/^@/, '%40')}@${number}`

/** SHA-512 by package, as bun.lock has them; a package that comes from elsewhere has none. */
function digests(): Map<string, string> {
  const lock = readFileSync(join(import.meta.dir, '../../bun.lock'), 'utf8')
  const lines = lock.matchAll(/^ {4}"[^"]+": \["([^"]+)@([^"@]+)", .*"sha512-([^"]+)"\],?$/gm)
  return new Map(
    [...lines].map(([, name, number, sum]) => [`${name} ${number}`, Buffer.from(sum!, 'base64').toString('hex')]),
  )
}

/** @see https://cyclonedx.org/docs/1.6/json/ */
export function billOfMaterials(): object {
  const known = digests()
  const self = purlOf('cstp', version)
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', 'bom-ref': self, name: 'cstp', version, purl: self },
    },
    components: [...packages()].map(
      ([
        key,
        {
          manifest: { name, version: number, license },
        },
      ]) => {
        const purl = purlOf(name, number)
        const digest = known.get(key)
        return {
          type: 'library',
          'bom-ref': purl,
          name,
          version: number,
          purl,
          ...(license && {
            licenses: [license.startsWith('SEE ') ? { license: { name: license } } : { expression: license }],
          }),
          ...(digest && { hashes: [{ alg: 'SHA-512', content: digest }] }),
        }
      },
    ),
  }
}
