/** A decision chosen by typing what it is about, or by its id. */
import { useId, useState } from 'preact/hooks'
import { useLike } from '../../like.ts'
import { texts } from '../../texts.ts'
import { Badge } from '../../ui.tsx'

const t = texts.write.link

export interface Chosen {
  id: string
  title: string
}

/** @param typed text in the field, taken as an id until a decision is chosen */
export function Picker({
  label,
  hint,
  problem,
  but,
  typed,
  chosen,
  type,
  choose,
}: {
  label: string
  hint: string
  problem: string | undefined
  /** The decision to exclude. */
  but: string
  typed: string
  chosen: Chosen | null
  type: (text: string) => void
  choose: (one: Chosen | null) => void
}) {
  const id = useId()
  const [at, setAt] = useState(0)
  const [open, setOpen] = useState(false)
  const found = useLike(chosen ? '' : typed, 7)
  const rows = open && found ? found.decisions.filter((one) => one.id !== but).slice(0, 6) : []
  const take = (one: Chosen | undefined) => {
    if (one) choose({ id: one.id, title: one.title })
    setOpen(false)
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape' && rows.length > 0) setOpen(false)
    else if (event.key === 'Enter' && rows.length > 0) take(rows[at])
    else if (step && rows.length > 0) setAt((at + step + rows.length) % rows.length)
    else if (step) setOpen(true)
    else return
    event.preventDefault()
  }
  return (
    <div class="field picker">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        aria-expanded={rows.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={rows.length > 0 ? `${id}-${at}` : undefined}
        aria-describedby={problem === undefined ? `${id}-hint` : `${id}-problem ${id}-hint`}
        aria-invalid={problem === undefined ? undefined : true}
        autocomplete="off"
        required
        value={chosen?.title ?? typed}
        onInput={(event) => {
          choose(null)
          type(event.currentTarget.value)
          setAt(0)
          setOpen(true)
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      <div role="listbox" id={`${id}-list`} aria-label={label}>
        {rows.map((one, number) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
          <div
            key={one.id}
            id={`${id}-${number}`}
            role="option"
            tabIndex={-1}
            aria-selected={number === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(one)}
          >
            {one.title} <Badge of={one.outcome ?? 'pending'} />
          </div>
        ))}
      </div>
      {problem !== undefined && (
        <span class="problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
      <span class="hint" id={`${id}-hint`}>
        {chosen ? chosen.id : hint}
      </span>
      <span class="unseen" role="status">
        {rows.length > 0 && t.found(rows.length)}
      </span>
    </div>
  )
}
