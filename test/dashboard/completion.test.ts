/** What the workbench offers while a draft of rules is typed: pure, and in a browser by keyboard and for a screen reader. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { type Completions, offersAt } from '../../src/dashboard/pages/guardrails/completion.ts'
import { type FleetServer, fleetTokens, startFleet } from '../support/fleet.ts'
import { executable, launch, logIn, open, violations, visit } from './browser.ts'

setDefaultTimeout(120_000)

const texts = (...of: string[]) => of.map((text) => ({ text, about: null }))
const known: Completions = {
  '': texts('id', 'action', 'message', 'condition_stakes', 'condition_category'),
  conditions: texts('type', 'field', 'operator', 'value'),
  field: texts('stakes', 'category', 'context.tool'),
  operator: texts('<', '>=', 'in', 'not_in'),
  action: texts('block', 'step_up'),
  stakes: texts('low', 'high', 'critical'),
  category: texts('migration', 'payment'),
  'context.tool': texts('Bash', 'Write'),
}
/** The draft with `|` where the caret is. */
const offered = (draft: string, all = false): string[] =>
  offersAt(draft.replace('|', ''), draft.indexOf('|'), known, all).map(({ insert }) => insert)

test.each<[string, string, string[]]>([
  ['a key of a rule', '  - ac|', ['action: ']],
  ['a key that contains it', '    stak|', ['condition_stakes: ']],
  ['a value', '    action: b|', ['block']],
  ['every value of a key', '    action: |', ['block', 'step_up']],
  [
    'values of a field, and operators',
    '    condition_stakes: |',
    ['low', 'high', 'critical', '"< "', '">= "', '"in "', '"not_in "'],
  ],
  ['only values after an operator', '    condition_category: "not_in p|', ['payment']],
  ['a key between braces', '  - { id: x, ac|', ['action: ']],
  ['a key of a condition', '- { type: field, val|', ['value: ']],
  ['a key of a condition over lines', '      - type: field\n        op|', ['operator: ']],
  ['a field', '- { type: field, field: cat|', ['category']],
  ['an operator', '- { type: field, field: stakes, operator: n|', ['not_in', 'in']],
  ['a value of the field named before', '- { type: field, field: stakes, operator: "=", value: cr|', ['critical']],
  ['a value of a list', '- { type: field, field: context.tool, operator: in, value: [Write, B|', ['Bash']],
  ['the field of the same condition', '      field: stakes\n      operator: in\n      value: [hi|', ['high']],
  ['nothing for a whole word', '    action: block|', []],
  ['nothing in a text', '    message: High stakes need|', []],
  ['nothing on an empty line unasked', '    |', []],
])('offered is %s', (_, draft, expected) => {
  expect(offered(draft)).toEqual(expected)
})

test('asked for, an empty line offers the keys; what is taken replaces what was typed', () => {
  expect(offered('    |', true)).toEqual(known['']!.map(({ text }) => `${text}: `))
  expect(offersAt('  action: st', 12, known)).toEqual([{ text: 'step_up', about: null, from: 10, insert: 'step_up' }])
})

describe.skipIf(!executable)('the workbench', () => {
  let server: FleetServer
  let browser: Browser
  beforeAll(async () => {
    ;[server, browser] = await Promise.all([startFleet(), launch()])
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  test('by keyboard alone a rule is written from what it offers, which a screen reader hears', async () => {
    const { page, complaints } = await open(browser)
    await logIn(page, server.url, 'root', fleetTokens.root!)
    await visit(page, server.url, '/policy')
    const field = page.getByRole('textbox', { name: 'Rules as YAML' })
    await field.focus()
    const write = async (typed: string, wanted: string) => {
      await page.keyboard.type(typed)
      await page.getByRole('option', { name: wanted }).first().waitFor()
      const active = () => field.getAttribute('aria-activedescendant')
      expect(await active()).toBeNull()
      do await page.keyboard.press('ArrowDown')
      while ((await page.locator(`#${await active()} code`).innerText()) !== wanted)
      const chosen = page.locator('main [role=option][aria-selected=true]')
      expect(await chosen.evaluate((one) => getComputedStyle(one).outlineStyle)).toBe('solid')
      await page.keyboard.press('Enter')
    }
    await page.keyboard.type('- id: ask\n  message: Ask\n')
    await write('  act', 'action')
    await write('ste', 'step_up')
    await page.keyboard.press('Enter')
    await write('  categ', 'condition_category')
    await write('mig', 'migration')
    expect(await field.inputValue()).toBe(
      '- id: ask\n  message: Ask\n  action: step_up\n  condition_category: migration',
    )
    await page.getByText(/it catches \d+ failures? and costs \d+ success/).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Space')
    const list = page.getByRole('listbox', { name: 'Suggestions' })
    await list.getByRole('option').first().waitFor()
    expect(await page.getByRole('status').filter({ hasText: '8 suggestions' }).count()).toBe(1)
    expect(await violations(page, { within: 'main' })).toEqual([])
    await page.keyboard.press('Escape')
    expect(await list.getByRole('option').count()).toBe(0)
    // A suspicious line is marked where it is, and said with the field.
    await field.fill('- id: x\n  message: m\n  action: warn\n  condition_stake: high')
    await page.getByText('did you mean stakes?').waitFor()
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await field.getAttribute('aria-describedby')).toContain('draft-problems')
    expect(await field.evaluate((one) => getComputedStyle(one).backgroundImage)).toContain('linear-gradient')
    expect(await violations(page, { within: 'main' })).toEqual([])
    expect(complaints).toEqual([])
  })
})
