/** Fields of a decision form: each with its label, its hint, and the problem that the service found. */
import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { texts } from '../../texts.ts'

const t = texts.write.fields

interface About {
  label: string
  hint?: string | undefined
  problem?: string | undefined
}

/** Label, control, hint and problem, associated for people who do not see them side by side. */
export function Labelled({
  label,
  hint,
  problem,
  kind = '',
  children,
}: About & {
  /** A class of the field. */
  kind?: string
  children: (control: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ComponentChildren
}) {
  const id = useId()
  const [hintId, problemId] = [`${id}-hint`, `${id}-problem`]
  const about = [problem !== undefined && problemId, hint && hintId].filter(Boolean).join(' ')
  return (
    <div class={`field ${kind}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(about !== '' && { 'aria-describedby': about }),
        ...(problem !== undefined && { 'aria-invalid': true as const }),
      })}
      {problem !== undefined && (
        <span class="problem" id={problemId}>
          {problem}
        </span>
      )}
      {hint && (
        <span class="hint" id={hintId}>
          {hint}
        </span>
      )}
    </div>
  )
}

type Typing = About & { value: string; change: (value: string) => void }

export const Line = ({
  value,
  change,
  label,
  hint,
  problem,
  ...rest
}: Typing & InputHTMLAttributes<HTMLInputElement>) => (
  <Labelled label={label} hint={hint} problem={problem}>
    {(control) => <input {...rest} {...control} value={value} onInput={(event) => change(event.currentTarget.value)} />}
  </Labelled>
)

export const Lines = ({
  value,
  change,
  label,
  hint,
  problem,
  rows = 3,
  required,
  code,
}: Typing & { rows?: number; required?: boolean; code?: boolean }) => (
  <Labelled label={label} hint={hint} problem={problem}>
    {(control) => (
      <textarea
        {...control}
        rows={rows}
        required={required}
        class={code ? 'code' : ''}
        spellcheck={!code}
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
    )}
  </Labelled>
)

/** A share in percent: a slider and a number field. It has no value until one of them is used. */
export function Share({
  value,
  change,
  label,
  slider,
  hint,
  problem,
  required,
}: Typing & { slider: string; required?: boolean }) {
  return (
    <Labelled label={label} hint={hint} problem={problem}>
      {(control) => (
        <div class={value === '' ? 'share unset' : 'share'}>
          <input
            type="range"
            min="0"
            max="100"
            aria-label={slider}
            aria-valuetext={value === '' ? t.unset : `${value} %`}
            value={value === '' ? '50' : value}
            onInput={(event) => change(event.currentTarget.value)}
          />
          <input
            {...control}
            type="number"
            min="0"
            max="100"
            step="any"
            required={required}
            value={value}
            onInput={(event) => change(event.currentTarget.value)}
          />
        </div>
      )}
    </Labelled>
  )
}

/** An editable list. A new entry takes the focus; after a removal, the button that adds one does. */
export function Rows<T>({
  title,
  name,
  add,
  rows,
  start,
  change,
  children,
}: {
  title: string
  name: (number: number) => string
  add: string
  rows: T[]
  start: T
  change: (rows: T[]) => void
  children: (row: T, set: (changes: Partial<T>) => void, at: number) => ComponentChildren
}) {
  const list = useRef<HTMLUListElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const before = useRef(rows.length)
  const pressed = useRef(false)
  useLayoutEffect(() => {
    if (pressed.current && rows.length > before.current)
      list.current?.lastElementChild?.querySelector<HTMLElement>('input, textarea')?.focus()
    if (pressed.current && rows.length < before.current) button.current?.focus()
    before.current = rows.length
    pressed.current = false
  }, [rows.length])
  const press = (next: T[]) => {
    pressed.current = true
    change(next)
  }
  return (
    <div class="rows">
      <h2>{title}</h2>
      <ul class="plain" ref={list}>
        {rows.map((row, at) => (
          <li key={at}>
            <fieldset>
              <legend class="unseen">{name(at + 1)}</legend>
              {children(
                row,
                (changes) => change(rows.map((one, other) => (other === at ? { ...one, ...changes } : one))),
                at,
              )}
              <button
                type="button"
                aria-label={t.remove(name(at + 1))}
                onClick={() => press(rows.filter((_, other) => other !== at))}
              >
                ×
              </button>
            </fieldset>
          </li>
        ))}
      </ul>
      <button type="button" ref={button} onClick={() => press([...rows, start])}>
        {add}
      </button>
    </div>
  )
}
