/** The bound on tokens: never below what the tokenizer of the shipped model counts, and not far above it for prose. */
import { expect, test } from 'bun:test'
import { Tokenizer } from '@huggingface/tokenizers'
import { maxTokens } from '../../../../src/core/tokens.ts'
import { toMarkdown } from '../../../../src/domain/learn/memory/session-markdown.ts'
import { assets, readAsset } from '../../../../src/drivers/embedder/local/minilm.ts'
import * as fc from '../../../support/property.ts'
import { recordOf } from '../../../support/record.ts'
import { emptyContext, shownOf } from '../../../support/session-context.ts'

const tokenizer = new Tokenizer(JSON.parse(new TextDecoder().decode(await readAsset(assets.tokenizer))), {})
/** Without the two that mark begin and end. */
const tokens = (text: string): number => tokenizer.encode(text).ids.length - 2

const read = (path: string) => Bun.file(new URL(`../../../../${path}`, import.meta.url)).text()
const english = await read('docs/guide/guardrails.md')
const code = await read('src/domain/search/search.ts')
const decisions = (await read('docs/demo/decisions.jsonl')).trim().split('\n')
const others = [
  '我们决定把购物车保存在服务器上，因为浏览器中的数据经常丢失。教训：先测量，再优化。每次迁移之前必须验证备份可以恢复。',
  '支払いが失敗した場合は三回まで再試行し、その後は一分間待つことにした。教訓は、負荷試験を本番の前に行うこと。',
  '결제 제공자가 응답하지 않으면 일 분 동안 호출을 멈추고 주문을 열어 둔다. 배포 전에 반드시 백업을 확인하고 두 사람이 검토한다.',
  'Мы решили хранить корзину на сервере, потому что данные в браузере часто теряются.',
  'Größenänderungen prüfen; Übergabe bestätigen – auch nachts.',
]

const piecesOf = (text: string, length: number): string[] =>
  Array.from({ length: Math.floor(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length))

test('prose, code, other scripts: never fewer than there are, and prose not twice as many', () => {
  for (const length of [200, 800]) {
    for (const piece of [english, code, decisions.join('\n')].flatMap((text) => piecesOf(text, length)))
      expect([piece, maxTokens(piece) >= tokens(piece)]).toEqual([piece, true])
    for (const text of [english, code]) expect(maxTokens(text)).toBeLessThan(1.6 * tokens(text))
  }
  for (const text of others) expect([text, maxTokens(text) >= tokens(text)]).toEqual([text, true])
})

const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 12, maxLength: 12 })
const word = fc.constantFrom(...english.match(/[A-Za-z]+/g)!, ...code.match(/[A-Za-z]+/g)!)
const pieces = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: word },
    fc.constantFrom(...others.join(' ').split(' ')),
    hex.map((digits) => `\`2026-07-01-decision-${digits}\``),
    fc.integer().map(String),
    fc.constantFrom('https://example.com/a?b=1', '{"amount": 5000}', 'x', ':', '→', '👩‍💻', '  ', '\n', '\t'),
  ),
  { minLength: 20, maxLength: 120 },
)

test('words, ids, numbers and signs in any mixture', () => {
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join(' ')
      expect(maxTokens(text)).toBeGreaterThanOrEqual(tokens(text))
    }),
    { numRuns: 500 },
  )
})

test('a session context has at most the tokens that were asked for', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...decisions), { minLength: 3, maxLength: 12 }),
      fc.integer({ min: 50, max: 1_000 }),
      (lines, budget) => {
        const precedents = lines.map((line) => {
          const { decision, lessons = null, outcome = null } = JSON.parse(line)
          return shownOf(recordOf({ title: decision.slice(0, 120), decision, outcome, lessons }))
        })
        const markdown = toMarkdown(
          {
            ...emptyContext,
            precedents,
            rules: lines.map((_, at) => ({
              id: `no-high-stakes-${at}`,
              action: 'block',
              text: 'Confidence below 0.5, or none given. Applies if the stakes are high or critical and the confidence is below 0.5',
              scopes: [],
            })),
            degraded: true,
            index: { complete: false, indexed: 1, total: 2 },
          },
          budget,
        )
        expect(tokens(markdown)).toBeLessThanOrEqual(budget)
      },
    ),
    { numRuns: 200 },
  )
})
