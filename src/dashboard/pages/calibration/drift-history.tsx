/** Drift week by week: in words, as charts, and as a table for those who do not see them. */
import { counted, decimal, percent, pValue, whole } from '../../figures.ts'
import { Term } from '../../ui.tsx'
import { DriftChart, type Point } from './drift-chart.tsx'

/** What the weeks show, in a sentence. */
function summary(history: readonly Point[]): string {
  const told = history.filter(({ brier_score }) => brier_score !== null)
  if (told.length === 0) return 'In none of these weeks were enough decisions reviewed to compare.'
  const drifted = told.filter(({ drift_detected }) => drift_detected)
  const real = drifted.filter(({ brier_score, accuracy }) =>
    [brier_score, accuracy].some((change) => change && change.p_value <= 0.05),
  )
  const seen = `${counted(told.length, 'week')} of ${whole(history.length)} can be compared`
  if (drifted.length === 0) return `${seen}; drift was found in none of them.`
  const first = drifted[0]!.at.slice(0, 10)
  return `${seen}; drift was found in ${counted(drifted.length, 'week')}, first on ${first}, and is more than chance in ${whole(real.length)} of them.`
}

export function DriftHistory({ history }: { history: readonly Point[] }) {
  const told = history.some(({ brier_score }) => brier_score !== null)
  return (
    <>
      <h3>Week by week</h3>
      <p>{summary(history)}</p>
      {told && (
        <>
          <div class="sides">
            <DriftChart
              name="Brier score"
              history={history}
              of={(point) => point.brier_score}
              write={(value) => decimal(value, 2)}
            />
            <DriftChart
              name="Accuracy"
              history={history}
              of={(point) => point.accuracy}
              write={(value) => percent(value)}
            />
          </div>
          <ul class="legend" aria-hidden="true">
            <li>
              <span class="swatch recent" />
              the 30 days before
            </li>
            <li>
              <span class="swatch historical" />
              90 days before and earlier
            </li>
            <li>
              <span class="swatch drifted" />
              drift found
            </li>
          </ul>
        </>
      )}
      <details>
        <summary>Show as a table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Drift by week">
          <table class="dense">
            <caption class="unseen">Drift by week</caption>
            <thead>
              <tr>
                {['Day', 'Drift', 'Scored', 'Brier now', 'before', 'p-value', 'Accuracy now', 'before', 'p-value'].map(
                  (name, at) => (
                    <th key={at} scope="col" class={at > 1 ? 'number' : ''}>
                      {name === 'p-value' ? <Term name="pvalue">{name}</Term> : name}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {history
                .toReversed()
                .map(({ at, drift_detected, recent_scored, historical_scored, brier_score, accuracy }) => (
                  <tr key={at}>
                    <th scope="row">{at.slice(0, 10)}</th>
                    <td>{brier_score === null ? 'too few' : drift_detected ? 'found' : 'no'}</td>
                    <td class="number">
                      {whole(recent_scored)} and {whole(historical_scored)}
                    </td>
                    <td class="number">{decimal(brier_score?.recent)}</td>
                    <td class="number">{decimal(brier_score?.historical)}</td>
                    <td class="number">{brier_score ? pValue(brier_score.p_value) : decimal(null)}</td>
                    <td class="number">{percent(accuracy?.recent, 1)}</td>
                    <td class="number">{percent(accuracy?.historical, 1)}</td>
                    <td class="number">{accuracy ? pValue(accuracy.p_value) : decimal(null)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  )
}
