/** The parts of a decision that both the form for a new one and the form for a change have. */
import { texts } from '../../texts.ts'
import type { Draft } from './draft.ts'
import { Line, Lines, Rows, Share } from './fields.tsx'
import type { Problem } from './problems.ts'

const t = texts.write.fields

export interface Part {
  draft: Draft
  change: (changes: Partial<Draft>) => void
  problem: Problem
}

export const What = ({ draft, change, problem }: Part) => (
  <Lines
    label={t.decision}
    hint={t.decisionHint}
    required
    rows={2}
    value={draft.decision}
    change={(decision) => change({ decision })}
    problem={problem('decision')}
  />
)

export const Context = ({ draft, change, problem }: Part) => (
  <Lines
    label={t.context}
    hint={t.contextHint}
    rows={4}
    value={draft.context}
    change={(context) => change({ context })}
    problem={problem('context')}
  />
)

export const Confidence = ({ draft, change, problem, hint = t.confidenceHint }: Part & { hint?: string }) => (
  <Share
    label={t.confidence}
    slider={t.slider}
    hint={hint}
    required
    value={draft.confidence}
    change={(confidence) => change({ confidence })}
    problem={problem('confidence')}
  />
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
      {(row, set, at) => (
        <>
          <Line
            label={t.type}
            required
            list="reason-types"
            value={row.type}
            change={(type) => set({ type })}
            problem={problem(`reasons.${at}.type`)}
          />
          <Lines
            label={t.text}
            required
            rows={1}
            value={row.text}
            change={(text) => set({ text })}
            problem={problem(`reasons.${at}.text`)}
          />
          <Share
            label={t.strength}
            slider={`${t.strength}, ${t.reason(at + 1)}`}
            required
            value={row.strength}
            change={(strength) => set({ strength })}
            problem={problem(`reasons.${at}.strength`)}
          />
        </>
      )}
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
        <Line
          label={t.option}
          required
          value={row.option}
          change={(option) => set({ option })}
          problem={problem(`alternatives_considered.${at}`)}
        />
        <Line label={t.because} value={row.reason} change={(reason) => set({ reason })} />
      </>
    )}
  </Rows>
)

export const Tags = ({ draft, change, problem }: Part) => (
  <Line label={t.tags} value={draft.tags} change={(tags) => change({ tags })} problem={problem('tags')} />
)

export const Pattern = ({ draft, change, problem }: Part) => (
  <Lines
    label={t.pattern}
    hint={t.patternHint}
    rows={2}
    value={draft.pattern}
    change={(pattern) => change({ pattern })}
    problem={problem('pattern')}
  />
)

export const Place = ({ draft, change, problem }: Part) => (
  <div class="grid">
    <Line
      label={t.project}
      value={draft.project}
      change={(project) => change({ project })}
      problem={problem('project.name')}
    />
    <Line
      label={t.feature}
      value={draft.feature}
      change={(feature) => change({ feature })}
      problem={problem('project.feature')}
    />
    <Line
      label={t.pr}
      type="number"
      min="1"
      step="1"
      value={draft.pr}
      change={(pr) => change({ pr })}
      problem={problem('project.pr')}
    />
  </div>
)
