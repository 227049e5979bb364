/** Calibration figures of several groups side by side. */
import type { ComponentChildren } from 'preact'
import type { GetCalibrationParams, GetCalibrationResult } from '../../../../sdk/client.ts'
import { Agent } from '../../agent.tsx'
import { Show, useCall } from '../../call.tsx'
import { Csv } from '../../csv.tsx'
import { decimal, gapPoints, percent, whole } from '../../figures.ts'
import { To } from '../../route.tsx'
import { callAll } from '../../service.ts'
import { inPoints } from '../../texts/points.ts'
import { texts } from '../../texts.ts'
import { Empty, figures, Table, Term } from '../../ui.tsx'
import { provenWords } from '../../verdict.ts'

const t = texts.breakdown

type Cell = GetCalibrationResult['cells'][number]

const fields = ['name', 'scored', 'accuracy', 'mean_confidence', 'gap', 'gap_low', 'gap_high', 'brier_score'] as const

export function Breakdown({
  rows,
  first,
}: {
  /** `proven` is what all rows together prove; without it each row shows what its own interval proves. */
  rows: {
    name: string
    /** How the name is shown, if otherwise. */
    label?: ComponentChildren
    overall: GetCalibrationResult['overall']
    proven?: Cell['proven']
  }[]
  first: string
}) {
  if (rows.length === 0) return <Empty>{t.none}</Empty>
  return (
    <>
      <Table
        caption={t.caption(first.toLowerCase())}
        heads={[
          first,
          figures(t.scored),
          figures(t.accuracy, 'accuracy'),
          figures(t.gap, 'gap'),
          figures(t.brier, 'brier'),
          { name: t.proven, label: <Term name="verdict">{t.proven}</Term> },
        ]}
        rows={rows.map(({ name, label, overall, proven }) => [
          label ?? name,
          whole(overall.scored),
          percent(overall.accuracy, 1),
          gapPoints(overall.calibration_gap),
          decimal(overall.brier_score),
          proven === undefined ? provenWords(overall) : proven === null ? texts.verdict.notProven : inPoints(proven),
        ])}
      />
      <Csv
        name={`calibration-${first.toLowerCase().replaceAll(' ', '-')}`}
        fields={fields}
        rows={() => rows.map(({ name, overall }) => ({ ...overall, name, gap: overall.calibration_gap }))}
      />
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
    const calls = shown.map((name) => ({ method: 'getCalibration' as const, params: { ...of, [as]: name } }))
    const answers = await callAll(calls, signal)
    return answers.flatMap(({ total_decisions, overall }, at) =>
      total_decisions === 0 ? [] : [{ name: shown[at]!, overall }],
    )
  })
  return (
    <>
      <Show of={loaded}>
        {(rows) => (
          <Breakdown
            first={first}
            rows={rows.map((row) => ({
              ...row,
              label: (
                <To path="/calibration" query={{ ...of, [as]: row.name }}>
                  {as === 'agent' ? <Agent of={row.name} /> : row.name}
                </To>
              ),
              proven: cells.find((cell) => isRow(cell, as, row.name))?.proven ?? null,
            }))}
          />
        )}
      </Show>
      {names.length > shown.length && <p class="quiet">{t.more(names.length - shown.length)}</p>}
    </>
  )
}
