/** Calibration figures of several groups side by side. */
import type { GetCalibrationParams, GetCalibrationResult } from '../../../../sdk/client.ts'
import { Show, useCall } from '../../call.tsx'
import { Csv } from '../../csv.tsx'
import { decimal, gapPoints, percent, whole } from '../../figures.ts'
import { service } from '../../service.ts'
import { inPoints } from '../../texts/points.ts'
import { texts } from '../../texts.ts'
import { Empty, Table, Term } from '../../ui.tsx'
import { provenWords } from '../../verdict.ts'

const t = texts.breakdown

type Cell = GetCalibrationResult['cells'][number]

const csvHeads = ['name', 'scored', 'accuracy', 'mean_confidence', 'gap', 'gap_low', 'gap_high', 'brier_score']

export function Breakdown({
  rows,
  first,
}: {
  /** `proven` is what all rows together prove; without it each row shows what its own interval proves. */
  rows: { name: string; overall: GetCalibrationResult['overall']; proven?: Cell['proven'] }[]
  first: string
}) {
  if (rows.length === 0) return <Empty>{t.none}</Empty>
  return (
    <>
      <Table
        caption={t.caption(first.toLowerCase())}
        heads={[
          { name: first },
          { name: t.scored, number: true },
          { name: t.accuracy, label: <Term name="accuracy">{t.accuracy}</Term>, number: true },
          { name: t.gap, label: <Term name="gap">{t.gap}</Term>, number: true },
          { name: t.brier, label: <Term name="brier">{t.brier}</Term>, number: true },
          { name: t.proven, label: <Term name="verdict">{t.proven}</Term> },
        ]}
        rows={rows.map(({ name, overall, proven }) => [
          name,
          whole(overall.scored),
          percent(overall.accuracy, 1),
          gapPoints(overall.calibration_gap),
          decimal(overall.brier_score),
          proven === undefined
            ? provenWords(overall)
            : proven === null
              ? texts.trust.compare.notProven
              : inPoints(proven),
        ])}
      />
      <p>
        <Csv
          name={`calibration-${first.toLowerCase().replaceAll(' ', '-')}`}
          heads={csvHeads}
          rows={() =>
            rows.map(({ name, overall }) => [
              name,
              overall.scored,
              overall.accuracy,
              overall.mean_confidence,
              overall.calibration_gap,
              overall.gap_low,
              overall.gap_high,
              overall.brier_score,
            ])
          }
        />
      </p>
    </>
  )
}

const isRow = (cell: Cell, as: 'category' | 'agent', name: string): boolean =>
  cell[as] === name && cell.stakes === null && cell[as === 'agent' ? 'category' : 'agent'] === null

/** The same figures for each of the largest categories or agents. */
export function Compared({
  names,
  as,
  of,
  first,
  cells,
}: {
  names: string[]
  as: 'category' | 'agent'
  of: GetCalibrationParams
  first: string
  /** Cells of the same decisions, with what is proven of each. */
  cells: readonly Cell[]
}) {
  const shown = names.slice(0, 12)
  const loaded = useCall(JSON.stringify([shown, as, of]), async (signal) => {
    const answers = await service.batch(
      shown.map((name) => ({ method: 'getCalibration' as const, params: { ...of, [as]: name } })),
      { signal },
    )
    return answers.flatMap((answer, at) => {
      if (!answer.ok) throw answer.error
      const { total_decisions, overall } = answer.result
      return total_decisions === 0 ? [] : [{ name: shown[at]!, overall }]
    })
  })
  return (
    <>
      <Show of={loaded}>
        {(rows) => (
          <Breakdown
            first={first}
            rows={rows.map((row) => ({
              ...row,
              proven: cells.find((cell) => isRow(cell, as, row.name))?.proven ?? null,
            }))}
          />
        )}
      </Show>
      {names.length > shown.length && <p class="quiet">{t.more(names.length - shown.length)}</p>}
    </>
  )
}
