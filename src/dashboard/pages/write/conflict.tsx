/** Changes that someone else made while a decision was edited: both texts of each field, and a choice of one of them. */
import { useState } from 'preact/hooks'
import type { GetDecisionResult } from '../../../../sdk/client.ts'
import { time } from '../../figures.ts'
import { texts } from '../../texts.ts'
import { changedFields, type Draft, type Editable, isSame } from './draft.ts'

const t = texts.write.edit

/** A field as text. */
function textOf(draft: Draft, field: Editable): string {
  const value = draft[field]
  if (typeof value === 'string') return value.trim() === '' ? t.empty : value
  return value.length === 0
    ? t.empty
    : value.map(({ type, text, strength }) => `${type}: ${text} (${strength} %)`).join('\n')
}

/** Takes fields that only one side changed, and the choice if both did. */
export const mergedOf = (
  base: Draft,
  mine: Draft,
  stored: Draft,
  keep: (field: Editable) => 'yours' | 'stored',
): Draft =>
  Object.assign(
    { ...mine },
    ...changedFields(stored, base)
      .filter((field) => isSame(mine, base, field) || keep(field) === 'stored')
      .map((field) => ({ [field]: stored[field] })),
  )

export function Conflict({
  record: { revisions = [], recorded_by, updated_at },
  base,
  mine,
  stored,
  settle,
}: {
  record: GetDecisionResult
  base: Draft
  mine: Draft
  stored: Draft
  settle: (merged: Draft) => void
}) {
  const [chosen, setChosen] = useState<Partial<Record<Editable, 'yours' | 'stored'>>>({})
  const keep = (field: Editable) => chosen[field] ?? 'yours'
  const both = changedFields(stored, base).filter((field) => !isSame(mine, base, field) && !isSame(mine, stored, field))
  const last = revisions.at(-1)
  const by = last?.updated_by ?? recorded_by
  return (
    <section class="panel conflict" aria-labelledby="conflict">
      <h2 id="conflict">{t.conflictTitle}</h2>
      <p class="notice warn" role="alert">
        {t.conflict(by, time(last?.updated_at ?? updated_at))}
      </p>
      <p>
        {both.length > 0
          ? t.choose
          : t.merged(
              by,
              changedFields(stored, base)
                .map((field) => texts.write.names[field])
                .join(', '),
            )}
      </p>
      {both.map((field) => (
        <fieldset key={field}>
          <legend>{texts.write.names[field]}</legend>
          {(['yours', 'stored'] as const).map((side) => (
            <label key={side} class="side">
              <input
                type="radio"
                name={`keep-${field}`}
                checked={keep(field) === side}
                onChange={() => setChosen((before) => ({ ...before, [field]: side }))}
              />
              <span>
                <strong>{t[side]}</strong>
                <span class="prose">{textOf(side === 'yours' ? mine : stored, field)}</span>
              </span>
            </label>
          ))}
          <details>
            <summary>{t.before}</summary>
            <p class="prose">{textOf(base, field)}</p>
          </details>
        </fieldset>
      ))}
      <button type="button" class="main" onClick={() => settle(mergedOf(base, mine, stored, keep))}>
        {t.keep}
      </button>
    </section>
  )
}
