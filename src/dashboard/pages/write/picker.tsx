/** A decision chosen by typing what it is about, or by its id. */
import { useState } from 'preact/hooks'
import { Combobox } from '../../combobox.tsx'
import { useLike } from '../../like.ts'
import { texts } from '../../texts.ts'
import { Badge } from '../../ui.tsx'
import { Labelled } from './fields.tsx'

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
  const [open, setOpen] = useState(false)
  const found = useLike(chosen ? '' : typed, 7)
  const rows = open && found ? found.decisions.filter((one) => one.id !== but).slice(0, 6) : []
  return (
    <Labelled label={label} hint={chosen ? chosen.id : hint} problem={problem} kind="picker">
      {(control) => (
        <>
          <Combobox
            {...control}
            label={label}
            required
            value={chosen?.title ?? typed}
            type={(text) => {
              choose(null)
              type(text)
              setOpen(true)
            }}
            onBlur={() => setOpen(false)}
            show={setOpen}
            entries={rows}
            pick={({ id, title }) => {
              choose({ id, title })
              setOpen(false)
            }}
          >
            {({ title, outcome }) => (
              <>
                {title} <Badge of={outcome ?? 'pending'} />
              </>
            )}
          </Combobox>
          <span class="unseen" role="status">
            {rows.length > 0 && t.found(rows.length)}
          </span>
        </>
      )}
    </Labelled>
  )
}
