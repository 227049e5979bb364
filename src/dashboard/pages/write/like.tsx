/** Precedents next to a form, while it is being filled in. */
import { useLike } from '../../like.ts'
import { Found } from '../../precedents.tsx'
import { texts } from '../../texts.ts'
import { Empty } from '../../ui.tsx'

const t = texts.write.like

/** @param but the decision being superseded, which is the nearest of all */
export function Like({ text, but }: { text: string; but: string | null }) {
  const found = useLike(text, 6)
  const decisions = found?.decisions.filter(({ id }) => id !== but).slice(0, 5) ?? []
  return (
    <section class="panel like" aria-labelledby="like">
      <h2 id="like">{t.title}</h2>
      <div role="status">{found === null ? <Empty>{t.empty}</Empty> : <Found of={{ ...found, decisions }} />}</div>
    </section>
  )
}
