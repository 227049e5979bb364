/** Results of a question: each decision with why it was found and how well it fits, and a line below the last precedent. */
import { useState } from 'preact/hooks'
import { Agent } from '../../agent.tsx'
import { decimal, percent } from '../../figures.ts'
import { ToDecision } from '../../route.tsx'
import { texts } from '../../texts.ts'
import { Badge, Term, Track } from '../../ui.tsx'
import { Marked, snippetOf, wordsOf } from './marks.tsx'
import type { Found, Row, Wanted } from './search.ts'

const t = texts.search

/** From 0 to 1, in the measure by which the hits are ordered. */
const relevance = ({ scores, distance }: Row): number =>
  Math.min(1, Math.max(0, scores?.combined ?? 1 - (distance ?? 1)))

const parts = [
  ['semantic', t.meaning],
  ['keyword', t.words],
  ['combined', t.score],
] as const

function Scores({ row }: { row: Row }) {
  return (
    <dl class="scores">
      {typeof row.distance === 'number' && (
        <div>
          <dt>
            <Term name="distance">{t.distance}</Term>
          </dt>
          <dd>{decimal(row.distance)}</dd>
        </div>
      )}
      {row.scores &&
        parts.map(([part, name]) => (
          <div key={part}>
            <dt>
              <Term name={part}>{name}</Term>
            </dt>
            <dd>{decimal(row.scores?.[part])}</dd>
          </div>
        ))}
    </dl>
  )
}

function Hit({ row, words, scores }: { row: Row; words: readonly string[]; scores: boolean }) {
  const snippet = snippetOf(row.texts ?? [], words)
  const fits = relevance(row)
  return (
    <>
      <h2>
        <ToDecision id={row.id}>
          <Marked text={row.title} words={words} />
        </ToDecision>
      </h2>
      <span class="fits" title={t.fits(percent(fits))}>
        <span class="unseen">{t.fits(percent(fits))}</span>
        <Track share={fits} />
      </span>
      {snippet !== null && snippet !== row.title && (
        <p class="snippet">
          <Marked text={snippet} words={words} />
        </p>
      )}
      <p class="quiet status">
        <Badge of={row.outcome ?? 'pending'} />
        <Badge of={row.stakes} />
        <span>{row.category}</span>
        <span>{t.said(percent(row.confidence))}</span>
        {row.recorded_by && <Agent of={row.recorded_by} />}
        <span>{row.date}</span>
        {row.superseded_by && (
          <span>
            {t.superseded((text) => (
              <ToDecision id={row.superseded_by!}>{text}</ToDecision>
            ))}
          </span>
        )}
      </p>
      {scores && <Scores row={row} />}
    </>
  )
}

export function Hits({ found, wanted }: { found: Found; wanted: Wanted }) {
  const [scores, setScores] = useState(false)
  const words = wordsOf(wanted.q)
  const of = found.answer?.precedents ?? null
  const precedents = of === null ? null : of - found.offset
  return (
    <>
      <button type="button" aria-pressed={scores} onClick={() => setScores(!scores)}>
        {t.scores}
      </button>
      <ol class="plain hits" aria-label={t.hits}>
        {found.rows.map((row, at) => (
          <li key={row.id} class={precedents !== null && at >= precedents ? 'beyond' : ''}>
            {at > 0 && at === precedents && <p class="cut">{t.cut}</p>}
            <Hit row={row} words={words} scores={scores} />
          </li>
        ))}
      </ol>
    </>
  )
}
