/** Parts of a decision that the forms for recording and for editing share. */
import { texts } from '../../texts.ts'
import type { Draft } from './draft.ts'
import { Line, Lines, Rows, Share } from './fields.tsx'
import type { Problem } from './problems.ts'

const t = texts.write.fields

/** The edited object: a draft, or an entry of a list in it. */
interface Written<T> {
  draft: T
  change: (changes: Partial<T>) => void
  problem: Problem
}
export type Part = Written<Draft>

type TextsOf<T> = { [Name in keyof T]: T[Name] extends string ? Name : never }[keyof T] & keyof typeof t

/** Properties of the field for one of its texts. @param path of the text in the call, if it differs from the name */
export const field = <T,>({ draft, change, problem }: Written<T>, name: TextsOf<T>, path: string = name) => ({
  label: t[name] as string,
  value: draft[name] as string,
  change: (text: string) => change({ [name]: text } as Partial<T>),
  problem: problem(path),
})

export const What = (part: Part) => <Lines {...field(part, 'decision')} hint={t.decisionHint} required rows={2} />

export const Context = (part: Part) => <Lines {...field(part, 'context')} hint={t.contextHint} rows={4} />

export const Confidence = ({ hint = t.confidenceHint, ...part }: Part & { hint?: string }) => (
  <Share {...field(part, 'confidence')} slider={texts.write.names.confidence} hint={hint} required />
)

export const Reasons = ({ draft, change, problem }: Part) => (
  <>
    <Rows
      title={t.reasons}
      name={t.reason}
      add={t.addReason}
      rows={draft.reasons}
      start={{ type: '', text: '', strength: '80' }}
      change={(reasons) => change({ reasons })}
    >
      {(row, set, at) => {
        const part = { draft: row, change: set, problem: (name: string) => problem(`reasons.${at}.${name}`) }
        return (
          <>
            <Line {...field(part, 'type')} required list="reason-types" />
            <Lines {...field(part, 'text')} required rows={1} />
            <Share {...field(part, 'strength')} slider={`${t.strength}, ${t.reason(at + 1)}`} required />
          </>
        )
      }}
    </Rows>
    <datalist id="reason-types">
      {texts.write.reasonTypes.map((type) => (
        <option key={type} value={type} />
      ))}
    </datalist>
  </>
)

export const Alternatives = ({ draft, change, problem }: Part) => (
  <Rows
    title={t.alternatives}
    name={t.alternative}
    add={t.addAlternative}
    rows={draft.alternatives}
    start={{ option: '', reason: '' }}
    change={(alternatives) => change({ alternatives })}
  >
    {(row, set, at) => (
      <>
        <Line {...field({ draft: row, change: set, problem }, 'option', `alternatives_considered.${at}`)} required />
        <Line label={t.because} value={row.reason} change={(reason) => set({ reason })} />
      </>
    )}
  </Rows>
)

export const Tags = (part: Part) => <Line {...field(part, 'tags')} />

export const Pattern = (part: Part) => <Lines {...field(part, 'pattern')} hint={t.patternHint} rows={2} />

export const Place = (part: Part) => (
  <div class="grid">
    <Line {...field(part, 'project', 'project.name')} />
    <Line {...field(part, 'feature', 'project.feature')} />
    <Line {...field(part, 'pr', 'project.pr')} type="number" min="1" step="1" />
  </div>
)
