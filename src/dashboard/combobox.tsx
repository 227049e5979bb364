/** A field whose arrow keys walk the entries below it, while the field keeps the focus. */
import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'

export function Combobox<T>({
  id,
  label,
  entries,
  pick,
  type,
  show,
  rows,
  children,
  ...field
}: {
  id: string
  label: string
  entries: readonly T[]
  pick: (entry: T) => void
  /** Called with the text of the field when it changes. */
  type: (text: string) => void
  /** Called when Escape shall hide the entries, or an arrow show them; without it the browser handles Escape. */
  show?: (open: boolean) => void
  /** Lines of a field of several: no entry is chosen before an arrow key, and Ctrl-Space shows them. */
  rows?: number
  children: (entry: T) => ComponentChildren
} & Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> &
  Pick<TextareaHTMLAttributes<HTMLTextAreaElement>, 'wrap'>) {
  const first = rows ? -1 : 0
  const [at, setAt] = useState(first)
  const some = entries.length > 0
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (rows ? event.key === ' ' && event.ctrlKey : step && !some) show?.(true)
    else if (step && some && at + step >= first) setAt((at + step + entries.length) % entries.length)
    else if (event.key === 'Escape' && some && show) show(false)
    else if (event.key === 'Enter' && entries[at]) {
      pick(entries[at])
      setAt(first)
    } else {
      // What fits was looked up for the place that is left.
      if (rows && /^(?:Arrow|Home|End|Page)/.test(event.key)) show?.(false)
      return
    }
    event.preventDefault()
  }
  const control = {
    ...field,
    id,
    'aria-controls': `${id}-list`,
    'aria-autocomplete': 'list',
    'aria-activedescendant': some && at >= 0 ? `${id}-${at}` : undefined,
    autocomplete: 'off',
    onInput: (event: { currentTarget: { value: string } }) => {
      type(event.currentTarget.value)
      setAt(first)
    },
    onFocus: () => setAt(first),
    onKeyDown: press,
  } as const
  return (
    <>
      {rows ? (
        <textarea {...(control as object)} rows={rows} />
      ) : (
        <input {...control} role="combobox" aria-expanded={some} />
      )}
      <div role="listbox" id={`${id}-list`} aria-label={label}>
        {entries.map((entry, number) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
          <div
            key={number}
            id={`${id}-${number}`}
            role="option"
            tabIndex={-1}
            aria-selected={number === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => pick(entry)}
          >
            {children(entry)}
          </div>
        ))}
      </div>
    </>
  )
}
