/** A field whose arrow keys walk the entries below it, while the field keeps the focus. */
import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'

export function Combobox<T>({
  id,
  label,
  entries,
  pick,
  type,
  show,
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
  children: (entry: T) => ComponentChildren
} & Omit<InputHTMLAttributes<HTMLInputElement>, 'type'>) {
  const [at, setAt] = useState(0)
  const some = entries.length > 0
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && !some) show?.(true)
    else if (step) setAt((at + step + entries.length) % entries.length)
    else if (event.key === 'Escape' && some && show) show(false)
    else if (event.key === 'Enter' && entries[at]) pick(entries[at])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        {...field}
        id={id}
        role="combobox"
        aria-expanded={some}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={some ? `${id}-${at}` : undefined}
        autocomplete="off"
        onInput={(event) => {
          type(event.currentTarget.value)
          setAt(0)
        }}
        onFocus={() => setAt(0)}
        onKeyDown={press}
      />
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
