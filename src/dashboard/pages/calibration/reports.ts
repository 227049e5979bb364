/** What the pages Agents and Calibration show: the figures of a period, and the verdict. */
import type { GetCalibrationParams } from '../../../../sdk/client.ts'
import { service } from '../../service.ts'

/** The figures of a period, and beside them the report that the verdict is in: of all time, so that it has both periods. */
export async function reportsOf(params: GetCalibrationParams, signal: AbortSignal) {
  const [report, standing] = await Promise.all([
    service.getCalibration(params, { signal }),
    params.window === 'all' ? null : service.getCalibration({ ...params, window: 'all' }, { signal }),
  ])
  return { report, standing: standing ?? report }
}
