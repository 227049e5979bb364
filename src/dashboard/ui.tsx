/** The parts that every page is made of. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { time } from './figures.ts'
import { type TermName, terms } from './terms.ts'

/** A word of the trade with its definition, shown on hover and on focus, gone with Escape. */
export function Term({ name, children }: { name: TermName; children: ComponentChildren }) {
  const [open, setOpen] = useState(false)
  const id = useId()
  return (
    <span class="term">
      <button
        type="button"
        onMouseEnter={() => setOpen(true)}
        onMouseLeave={() => setOpen(false)}
        aria-describedby={open ? id : undefined}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}
      >
        {children}
      </button>
      {open && (
        <span role="tooltip" id={id}>
          {terms[name]}
        </span>
      )}
    </span>
  )
}

/** A part of a page under a heading. */
export function Panel({
  title,
  lead,
  wide,
  children,
}: {
  title: string
  lead?: ComponentChildren
  wide?: boolean
  children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class={wide ? 'panel wide' : 'panel'} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {lead && <p class="quiet">{lead}</p>}
      {children}
    </section>
  )
}

/** One figure with its name. */
export function Figure({
  name,
  term,
  value,
  note,
}: {
  name: string
  term?: TermName
  value: ComponentChildren
  note?: ComponentChildren
}) {
  return (
    <div class="figure">
      <dt>{term ? <Term name={term}>{name}</Term> : name}</dt>
      <dd>
        <strong>{value}</strong>
        {note && <span class="quiet">{note}</span>}
      </dd>
    </div>
  )
}

const tones: Record<string, string> = {
  success: 'good',
  failure: 'bad',
  partial: 'warn',
  critical: 'bad',
  high: 'warn',
  open: 'bad',
  half_open: 'warn',
  closed: 'good',
  block: 'bad',
  warn: 'warn',
  warning: 'warn',
  allowed: 'good',
  blocked: 'bad',
  observed: 'good',
  attested: 'warn',
  INSUFFICIENT: 'warn',
}

/** A short state in a colour that its word says too. */
export const Badge = ({ of }: { of: string }) => (
  <span class={`badge ${tones[of] ?? ''}`}>{of.replaceAll('_', ' ')}</span>
)

/** A moment, to the minute; the whole of it when it is pointed at. */
export const When = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {time(at)}
  </time>
)

/** What to do where there is nothing to see. */
export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>

/** A table that becomes a list of cards where there is no room for it. */
export function Table({
  caption,
  heads,
  rows,
}: {
  caption: string
  heads: { name: string; label?: ComponentChildren; number?: boolean }[]
  rows: ComponentChildren[][]
}) {
  return (
    <div class="scroll">
      {/* Said again as roles, because what is laid out as cards is no table to some screen readers. */}
      <table role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {heads.map(({ name, label, number }) => (
              <th key={name} scope="col" role="columnheader" class={number ? 'number' : ''}>
                {label ?? name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((cells, row) => (
            <tr key={row} role="row">
              {cells.map((cell, at) => (
                <td
                  key={heads[at]!.name}
                  role="cell"
                  data-label={heads[at]!.name}
                  class={heads[at]!.number ? 'number' : ''}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The button of an action that takes a while. It keeps the focus meanwhile, which a disabled one would lose. */
export const Act = ({
  busy,
  main,
  onClick,
  children,
}: {
  busy: boolean
  main?: boolean
  /** Without it the button submits its form, which looks at `busy` itself. */
  onClick?: () => void
  children: ComponentChildren
}) => (
  <button
    type={onClick ? 'button' : 'submit'}
    class={main ? 'main' : ''}
    aria-disabled={busy}
    onClick={busy || !onClick ? undefined : onClick}
  >
    {children}
  </button>
)

/** What an action has led to. The focus goes there, because the button that was pressed may be gone. */
export function Told({ children }: { children: ComponentChildren }) {
  const box = useRef<HTMLParagraphElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <p class="notice good" role="status" tabIndex={-1} ref={box}>
      {children}
    </p>
  )
}

/** A choice in a form. Without `onChange` the form keeps what is chosen, and `value` is only where it begins. */
export function Choice({
  label,
  name,
  value,
  options,
  onChange,
}: {
  label: string
  name: string
  value: string
  options: (readonly [value: string, text: string])[]
  onChange?: (value: string) => void
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name} {...(onChange && { value, onChange: (event) => onChange(event.currentTarget.value) })}>
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
