/** Real forecasts by three models of one election, with what came of them. */
export interface Forecast {
  race: string
  branch: string
  date: string
  version: string
  confidence: number
  /** Null where nobody was called the winner. */
  won: boolean | null
}

/** The forecasts of the file of 2018, in its order. */
export function forecastsOf(csv: string): Forecast[] {
  const [head, ...lines] = csv.trim().split('\n')
  const names = head!.trim().split(',')
  return lines.map((line) => {
    const row = Object.fromEntries(
      line
        .trim()
        .split(',')
        .map((value, at) => [names[at]!, value]),
    )
    const [month, day, year] = row.forecastdate!.split('/').map(Number)
    return {
      race: row.race!,
      branch: row.branch!,
      date: `20${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`,
      version: row.version!,
      confidence: Number(row.Democrat_WinProbability),
      won: row.uncalled === '1' ? null : row.Democrat_Won === '1',
    }
  })
}
