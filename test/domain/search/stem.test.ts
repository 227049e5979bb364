/** The stemmer against the published examples of the algorithm, and against a second implementation (SQLite's). */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { stem } from '../../../src/domain/search/stem.ts'

/** `word stem` pairs: the examples of each step in the paper, taken through the whole algorithm, and words with their families. */
const published = `
caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre, plastered plaster, bled bled, motoring motor,
sing sing, conflated conflat, troubled troubl, sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail,
filing file, happy happi, sky sky, relational relat, conditional condit, rational ration, valenci valenc, hesitanci hesit,
digitizer digit, conformabli conform, radicalli radic, differentli differ, vileli vile, analogousli analog, vietnamization vietnam,
predication predic, operator oper, feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, formaliti formal,
sensitiviti sensit, sensibiliti sensibl, triplicate triplic, formative form, formalize formal, electriciti electr, electrical electr,
hopeful hope, goodness good, revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop, adjustable adjust,
defensible defens, irritant irrit, replacement replac, adjustment adjust, dependent depend, adoption adopt, homologou homolog,
communism commun, activate activ, angulariti angular, homologous homolog, effective effect, bowdlerize bowdler, probate probat,
rate rate, cease ceas, controll control, roll roll, generalizations gener, oscillators oscil,
connect connect, connected connect, connecting connect, connection connect, connections connect, relate relat, relativity rel,
abilities abil, ability abil, able abl, abruptly abruptli, absence absenc, accept accept, acceptance accept, accompanied accompani,
accompanying accompani, accused accus, aching ach, advantageous advantag, advisable advis, agreement agreement, allowing allow,
apologies apolog, apology apolog, appearance appear, arguing argu, argument argument, argued argu, argues argu, arrival arriv,
authorization author, beautiful beauti, believes believ, bodies bodi, business busi, possibly possibl, possible possibl,
national nation, nationality nation, organization organ, university univers, universe univers, probability probabl, probably probabl,
dying dy, flying fly, flies fli, studies studi, studying studi, denied deni, died di, mules mule, humbled humbl, meeting meet,
itemization item, sensational sensat, traditional tradit, reference refer, plotted plot, running run, runs run, runner runner,
easily easili, fairly fairli, database databas, databases databas, caching cach, cached cach, caches cach, deployment deploy,
deployed deploi, migrations migrat, migrating migrat, retries retri, retry retri, queue queue, queues queue, testing test
`
  .split(',')
  .map((pair) => pair.trim().split(' ') as [string, string])

test('published examples', () => {
  expect(published.length).toBeGreaterThan(150)
  expect(published.filter(([word, expected]) => stem(word) !== expected).map(([word]) => [word, stem(word)])).toEqual(
    [],
  )
})

test('words of one or two letters, and words of consonants only, stay', () => {
  for (const word of ['a', 'is', 'as', 'by', 'y', 'rhythm', 'tsk', 'hmm']) expect(stem(word)).toBe(word)
})

/** SQLite does not cut a suffix that is the whole word; the paper does. */
const wholeSuffixes = ['eed', 'ies', 'sses']

test('agrees with the stemmer of SQLite on every word of this repository', async () => {
  const words = new Set<string>()
  for (const file of await readdir(`${import.meta.dir}/../../..`, { recursive: true })) {
    if (!/^(?:src|sdk|test|docs)\/.*\.(?:ts|md|jsonl)$/.test(file)) continue
    for (const [word] of (await Bun.file(`${import.meta.dir}/../../../${file}`).text())
      .toLowerCase()
      .matchAll(/[a-z]+/g))
      if (word.length <= 64 && !wholeSuffixes.includes(word)) words.add(word)
  }
  const list = [...words]
  expect(list.length).toBeGreaterThan(2_000)
  using db = new Database(':memory:')
  db.run("create virtual table f using fts5(word, tokenize='porter ascii')")
  db.run("create virtual table t using fts5vocab(f, 'instance')")
  const insert = db.query('insert into f(rowid, word) values (?, ?)')
  db.transaction(() => list.forEach((word, index) => void insert.run(index, word)))()
  const rows = db.query('select doc, term from t').all() as { doc: number; term: string }[]
  expect(rows.length).toBe(list.length)
  expect(rows.filter(({ doc, term }) => stem(list[doc]!) !== term).map(({ doc, term }) => [list[doc], term])).toEqual(
    [],
  )
})

test('60 000 distinct words of 60 letters lose their suffix', () => {
  const words = Array.from(
    { length: 60_000 },
    (_, index) => `${'y'.repeat(50)}${[...`${index}`].map((d) => 'ghijklmnop'[+d]).join('')}ational`,
  )
  expect(words.filter((word) => stem(word).length >= word.length)).toEqual([])
})
