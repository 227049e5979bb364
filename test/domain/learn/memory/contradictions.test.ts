/** Automatic contradictions with the shipped model: choices that exclude each other are found, repeated acts are not. */
import { expect, test } from 'bun:test'
import { openEngine } from '../../../eval/engine.ts'

/** Two options and their purpose, in the words of each. None was used to choose a bound. */
const pairs = [
  ['Sign images with cosign', 'Do not sign images', 'know that an image is ours'],
  ['Keep feature flags in the database', 'Keep feature flags in files', 'turn a feature off without a release'],
  ['Send mail through SES', 'Run our own mail server', 'get mail to customers'],
  ['Write the parser by hand', 'Generate the parser from a grammar', 'read the price lists of suppliers'],
  ['Shard by customer', 'Shard by region', 'spread the load of the order database'],
  ['Number invoices without gaps', 'Number invoices at random', 'let auditors find each invoice'],
  ['Test on real phones', 'Test in emulators only', 'find faults of the app before customers do'],
  ['Run migrations at the start', 'Run migrations by hand', 'bring the schema up to date'],
] as const

const [services, verbs] = [
  ['checkout', 'catalog', 'billing', 'search'],
  ['Release', 'Ship', 'Deploy', 'Roll out', 'Publish'],
]
const about = [
  'with the tax rounding fix',
  'and its new prices page',
  'after the hotfix of the cart',
  'to production',
  'with faster search',
  'for the Friday sale',
  '',
]
const purposes = ['get fixes to customers', 'bring the new version to the shops', 'let customers have what is ready']

test('300 releases in varied words give no contradiction, and pairs of choices among them are found', async () => {
  const engine = await openEngine()
  const made = async (decision: string, purpose: string, category: string, outcome: string) => {
    const bridge = { structure: decision, function: purpose }
    const given = { decision, bridge, category, confidence: 0.8, project: { name: 'acme/shop' } }
    const { decision_id: id } = (await engine.call('recordDecision', given)) as { decision_id: string }
    await engine.call('reviewDecision', { id, outcome })
    return id
  }
  for (let at = 0; at < 300; at++) {
    const [verb, service, why] = [verbs[at % 5]!, services[(at * 7) % 4]!, purposes[at % 3]!]
    const decision = `${verb} ${service} ${at % 9}.${(at * 13) % 20}.${at % 7} ${about[(at * 11) % 7]}`.trim()
    await made(decision, why, 'deployment', at % 4 === 0 ? 'failure' : 'success')
  }
  const expected: string[][] = []
  for (const [one, other, purpose] of pairs)
    expected.push([
      await made(one, purpose, 'architecture', 'success'),
      await made(other, purpose, 'architecture', 'failure'),
    ])
  const { actions } = (await engine.call('ready', { action_types: ['contradiction'], limit: 200 })) as {
    actions: { decision_id: string; detail: { other_id: string } }[]
  }
  expect(actions.map(({ decision_id, detail }) => [detail.other_id, decision_id]).sort()).toEqual(expected.sort())
  await engine.close()
})
