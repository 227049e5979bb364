/** The parts that every page is made of. */
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
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
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {heads.map(({ name, label, number }) => (
              <th key={name} scope="col" class={number ? 'number' : ''}>
                {label ?? name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, at) => (
                <td key={heads[at]!.name} data-label={heads[at]!.name} class={heads[at]!.number ? 'number' : ''}>
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

/** A choice in a form. */
export function Choice({
  label,
  name,
  value,
  options,
  disabled,
  onChange,
}: {
  label: string
  name: string
  value: string
  options: (readonly [value: string, text: string])[]
  disabled?: boolean
  onChange?: (value: string) => void
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        name={name}
        value={value}
        disabled={disabled ?? false}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
