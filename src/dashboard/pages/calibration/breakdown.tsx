/** Calibration figures of several groups side by side. */
import type { GetCalibrationResult } from '../../../../sdk/client.ts'
import { decimal, percent, signed, whole, words } from '../../figures.ts'
import { Empty, Table, Term } from '../../ui.tsx'

export function Breakdown({
  rows,
  first,
}: {
  rows: { name: string; overall: GetCalibrationResult['overall'] }[]
  first: string
}) {
  if (rows.length === 0) return <Empty>There is nothing to compare yet.</Empty>
  return (
    <Table
      caption={`Calibration: ${first.toLowerCase()}`}
      heads={[
        { name: first },
        { name: 'Scored', number: true },
        { name: 'Accuracy', label: <Term name="accuracy">Accuracy</Term>, number: true },
        { name: 'Gap', label: <Term name="gap">Gap</Term>, number: true },
        { name: 'Brier', label: <Term name="brier">Brier</Term>, number: true },
        { name: 'Verdict' },
      ]}
      rows={rows.map(({ name, overall }) => [
        name,
        whole(overall.scored),
        percent(overall.accuracy, 1),
        signed(overall.calibration_gap),
        decimal(overall.brier_score),
        words(overall.interpretation),
      ])}
    />
  )
}
