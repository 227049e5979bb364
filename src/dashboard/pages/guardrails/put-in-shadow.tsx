/** The last step of the workbench: the tested draft becomes rules in shadow mode, or a file if the service may not write. */
import type { ShadowGuardrailsResult } from '../../../../sdk/client.ts'
import { Failure, useJob } from '../../call.tsx'
import { Copy } from '../../copy.tsx'
import { saveFile } from '../../csv.tsx'
import { Act, useResult } from '../../form.tsx'
import { refreshPage } from '../../fresh.tsx'
import { useView } from '../../route.tsx'
import { service } from '../../service.ts'
import { texts } from '../../texts.ts'

const t = texts.workbench

/** @param rules the draft as tested @param behind whether another draft is typed meanwhile */
export function PutInShadow({ rules, behind }: { rules: string; behind: boolean }) {
  const mayPut = useView().drafts === 'shadow'
  const { result, error, busy, run } = useJob<ShadowGuardrailsResult>()
  const [said, say] = useResult()
  const put = () =>
    run(async () => {
      const answer = await service.shadowGuardrails({ rules })
      if (answer.file !== null) {
        say(t.done(answer.rules.join(', '), answer.file))
        refreshPage()
      }
      return answer
    })
  const { yaml, read_only } = result ?? { yaml: null, read_only: false }
  return (
    <>
      <p class="quiet">{t.next}</p>
      {said}
      {result?.errors.map(({ line, column, message }) => (
        <p class="notice bad" role="alert" key={`${line} ${column} ${message}`}>
          {t.wrong(line, message)}
        </p>
      ))}
      {error !== null && <Failure error={error} />}
      {!mayPut && (
        <p class="actions">
          <span class="quiet">{t.needsCurate}</span>
          <Copy text={location.href}>{t.copyLink}</Copy>
        </p>
      )}
      {mayPut && !result?.success && (
        <p>
          <Act busy={busy || behind} main onClick={put}>
            {t.put}
          </Act>
        </p>
      )}
      {read_only && yaml !== null && (
        <div role="status">
          <p class="notice warn">{t.readOnly}</p>
          <pre>{t.command}</pre>
          <button type="button" onClick={() => saveFile(t.file, new Blob([yaml], { type: 'application/yaml' }))}>
            {t.save}
          </button>
        </div>
      )}
    </>
  )
}
