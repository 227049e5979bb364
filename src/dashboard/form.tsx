/** Forms: inputs, choices, buttons, and results. */
import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Period, whole } from './figures.ts'
import { addressOf, go, goWith, type Place, To, useView } from './route.tsx'
import { texts } from './texts.ts'

const t = texts.form

/** Reads the value of a form field. */
export type Read = (name: string) => string

/** A form that passes its fields to a function instead of submitting them. */
export const Form = ({
  submit,
  children,
  ...rest
}: {
  submit: (read: Read, form: HTMLFormElement) => void
  class?: string
  'aria-label'?: string
  children: ComponentChildren
}) => (
  <form
    {...rest}
    onSubmit={(event) => {
      event.preventDefault()
      const data = new FormData(event.currentTarget)
      submit((name) => String(data.get(name) ?? ''), event.currentTarget)
    }}
  >
    {children}
  </form>
)

/** A field with its label: an input, or the children. */
export const Field = ({
  label,
  grow,
  children,
  ...input
}: { label: string; grow?: boolean; children?: ComponentChildren } & InputHTMLAttributes<HTMLInputElement>) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the control is the input or the child
  <label class={grow ? 'field grow' : 'field'}>
    <span>{label}</span>
    {children ?? <input {...input} />}
  </label>
)

/** A field of several lines. */
export const LinesField = ({ label, ...area }: { label: string } & TextareaHTMLAttributes<HTMLTextAreaElement>) => (
  <Field label={label}>
    <textarea rows={2} {...area} />
  </Field>
)

/** An option is its own text unless it comes with one. */
export type Options = readonly (string | readonly [value: string, text: string])[]

/** A choice in a form. Without `onChange` the form keeps the choice, and `value` is only the initial one. */
export const Choice = ({
  label,
  name,
  value,
  options,
  onChange,
}: {
  label: string
  name: string
  value: string
  options: Options
  onChange?: (value: string) => void
}) => (
  <Field label={label}>
    <select name={name} {...(onChange && { value, onChange: (event) => onChange(event.currentTarget.value) })}>
      {options
        .map((option) => (typeof option === 'string' ? ([option, option] as const) : option))
        .map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
    </select>
  </Field>
)

/** The button of an action that takes a while. It keeps the focus meanwhile, which a disabled button would lose. */
export const Act = ({
  busy,
  main,
  onClick,
  children,
}: {
  busy: boolean
  main?: boolean
  /** Without it the button submits its form, which checks `busy` itself. */
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

/** The result of an action. It takes the focus, because the button that was pressed may be gone. */
function Result({ children }: { children: ComponentChildren }) {
  const box = useRef<HTMLParagraphElement>(null)
  useLayoutEffect(() => box.current?.focus(), [])
  return (
    <p class="notice good" role="status" tabIndex={-1} ref={box}>
      {children}
    </p>
  )
}

/** The last result of a page's actions; the same text again is a new result. */
export function useResult(): [result: ComponentChildren, show: (text: string) => void] {
  const [shown, setShown] = useState<{ text: string; at: number } | null>(null)
  const show = (text: string) => setShown((before) => ({ text, at: (before?.at ?? 0) + 1 }))
  return [shown && <Result key={shown.at}>{shown.text}</Result>, show]
}

/** A choice that is kept in the address, except for the default. */
export function PlaceChoice({
  otherwise,
  ...choice
}: { otherwise?: string } & Pick<Parameters<typeof Choice>[0], 'label' | 'name' | 'value' | 'options'>) {
  const { place } = useView()
  const change = (value: string) => goWith(place, { [choice.name]: value === otherwise ? null : value, page: null })
  return <Choice {...choice} onChange={change} />
}

const keptPeriod = 'cstp:period'
/** On pages whose figures need more outcomes than a day or a week has. */
const widened: Record<string, string> = { '24h': '30d', '7d': '30d' }

/**
 * The period of the figures, kept in the address under this name and from page to page, and the choice of another one.
 * @param options the periods of this page; the first whose value is empty is the default, else all time
 */
export function usePeriod<P extends Period | ''>(
  name: string,
  options: readonly (readonly [P, string])[],
): [period: P, choice: ComponentChildren] {
  const { place } = useView()
  const kept = sessionStorage.getItem(keptPeriod) ?? ''
  const find = (asked: string | null) => options.find(([one]) => one === asked)?.[0]
  const otherwise = find('') ?? find('all')!
  const period = find(place.query.get(name)) ?? find(kept) ?? find(widened[kept] ?? null) ?? otherwise
  const change = (value: string) => {
    sessionStorage.setItem(keptPeriod, value)
    goWith(place, { [name]: value, page: null })
  }
  return [period, <Choice label={t.period} name={name} value={period} options={options} onChange={change} />]
}

/** The page of a list in the address, from 1. */
export const pageIn = ({ query }: Place): number => Math.max(1, Number.parseInt(query.get('page') ?? '1', 10) || 1)

/** Links to the neighbouring pages of a list, and a form for any page. */
export function Pager({ page, last, name }: { page: number; last: number; name: string }) {
  const { place } = useView()
  if (last <= 1 && page === 1) return null
  const query = (number: number) => ({ ...Object.fromEntries(place.query), page: number > 1 ? number : null })
  const to = (number: number, text: string, rel?: string) => (
    <To path={place.path} query={query(number)} {...(rel && { rel })}>
      {text}
    </To>
  )
  const open = (read: Read) => goWith(place, { page: Math.min(last, Math.max(1, Math.trunc(Number(read('page'))))) })
  return (
    <nav class="pager" aria-label={name}>
      <span>{page > 1 && to(1, t.first)}</span>
      <span>{page > 1 && to(Math.min(page - 1, last), t.previous, 'prev')}</span>
      <Form key={page} submit={open}>
        <label>
          {t.page} <input name="page" type="number" min="1" max={last} required defaultValue={String(page)} />
        </label>{' '}
        {t.of(whole(last))}
        <button type="submit">{t.go}</button>
      </Form>
      <span>{page < last && to(page + 1, t.next, 'next')}</span>
      <span>{page < last && to(last, t.last)}</span>
    </nav>
  )
}

/** The values of a filter bar in the address, by name; empty if not set. */
export const keptOf = <Name extends string>({ query }: Place, names: readonly Name[]): Record<Name, string> =>
  Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])) as Record<Name, string>

/** Filters of a list, kept in the address: fields that apply on submit, and a choice that applies at once. */
export function FilterBar({
  fields,
  choice,
  cursor,
}: {
  fields: { name: string; label: string; placeholder?: string; list?: string }[]
  choice: { name: string; label: string; options: Options }
  /** Query parameter with the position in the list, which a filter resets. */
  cursor: string
}) {
  const { place } = useView()
  // Rebuilt only when the address changes, so that an arriving answer does not discard typed text.
  return useMemo(() => {
    const kept = keptOf(place, [...fields.map(({ name }) => name), choice.name])
    const submit = (read: Read) =>
      go(addressOf(place.path, { ...kept, ...Object.fromEntries(fields.map(({ name }) => [name, read(name).trim()])) }))
    return (
      <Form class="bar" submit={submit}>
        {fields.map(({ label, ...input }) => (
          <Field key={input.name} label={label} type="text" {...input} value={kept[input.name] ?? ''} />
        ))}
        <Choice
          {...choice}
          value={kept[choice.name] ?? ''}
          onChange={(value) => goWith(place, { [choice.name]: value, [cursor]: null })}
        />
        <button type="submit">{t.filter}</button>
      </Form>
    )
  }, [place.query.toString()])
}
