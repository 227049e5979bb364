/** Codex's settings are TOML in any layout: the gateway goes in front of each server and out again, and everything else stays. */
import { expect, test } from 'bun:test'
import { codexThroughGateway, codexWithoutGateway } from '../../src/app/init/codex-servers.ts'
import type { Wiring } from '../../src/app/init/wiring.ts'
import * as fc from '../support/property.ts'

const wiring = { program: ['/bin/cstp'], data_dir: '/data' } as unknown as Wiring

// As in TOML: a string with escapes, or a literal one.
const text = fc.oneof(
  fc.string({ maxLength: 12 }).map((value) => JSON.stringify(value.replace(/[^\x20-\x7e]/g, '_'))),
  fc.stringMatching(/^[ -&(-~]{0,12}$/).map((value) => `'${value}'`),
)
const gap = fc.constantFrom('', ' ', '\n', ' # a "comment" ]\n', '\n\n  ')
const list = fc
  .array(fc.tuple(gap, text, gap), { maxLength: 4 })
  .chain((items) => gap.map((end) => `[${items.map((one) => one.join('')).join(',')}${end}]`))
const lines = fc
  .record({
    command: text.filter((value) => value.length > 2).map((value) => `command = ${value}`),
    args: fc.option(list.map((value) => `args=${value}`)),
    more: fc.constantFrom(
      'env = { A = "]", B = \'#\' }',
      'note = """a\n[mcp_servers.fake]\n"""',
      'on = true # [x]',
      '',
    ),
  })
  .chain(({ command, args, more }) =>
    fc.shuffledSubarray([command, ...(args === null ? [] : [args]), more], { minLength: args === null ? 2 : 3 }),
  )
const file = fc
  .uniqueArray(fc.constantFrom('tools', '"far away"', "'x.y'", 'cstp', 'b-2'), { maxLength: 4 })
  .chain((names) =>
    fc
      .tuple(...names.map((name) => lines.map((own) => `  [mcp_servers.${name}]  # its own\n${own.join('\n')}\n`)))
      .map((all) => all.join('\n')),
  )

type Servers = Record<string, { command: string; args?: string[] }>
const serversIn = (toml: string): Servers => (Bun.TOML.parse(toml) as { mcp_servers?: Servers }).mcp_servers ?? {}

test('in any layout each server is started by the gateway, and afterwards by its own command again', () => {
  fc.assert(
    fc.property(file, (before) => {
      const through = codexThroughGateway(before, wiring)
      expect(codexThroughGateway(through, wiring)).toBe(through)
      const [own, behind] = [serversIn(before), serversIn(through)]
      for (const [name, { command, args = [] }] of Object.entries(own)) {
        if (name === 'cstp') expect(behind[name]).toEqual(own[name]!)
        else {
          expect(behind[name]!.command).toBe('/bin/cstp')
          expect(behind[name]!.args!.slice(-args.length - 2)).toEqual(['--', command, ...args])
        }
      }
      const back = serversIn(codexWithoutGateway(through))
      const withArgs = Object.entries(own).map(([name, one]) => [name, name === 'cstp' ? one : { args: [], ...one }])
      expect(back).toEqual(Object.fromEntries(withArgs))
      expect(through.match(/# its own/g)).toEqual(before.match(/# its own/g))
    }),
    { numRuns: 300 },
  )
})
