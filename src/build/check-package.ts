/** What publint and "are the types wrong" find in a package as it would be published. */
import { type CheckResult, checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/** The package is a module: these resolve as `require` and as resolvers older than `exports` do, which it does not promise. */
const unpromised: readonly string[] = ['node10', 'node16-cjs']

const typeProblems = (result: CheckResult): string[] =>
  result.types === false
    ? []
    : result.problems.flatMap((one) => {
        const resolution = 'resolutionKind' in one ? one.resolutionKind : null
        const where = 'entrypoint' in one ? ` ${one.entrypoint}` : ''
        return resolution !== null && unpromised.includes(resolution) ? [] : [`${one.kind}${where} ${resolution ?? ''}`]
      })

/** One line for each problem of a tarball; none for a package that may be published. */
export async function packageProblems(tarball: string): Promise<string[]> {
  const bytes = await Bun.file(tarball).bytes()
  const { messages, pkg } = await publint({ pack: { tarball: bytes.slice().buffer }, strict: true })
  const lines = messages.map((one) => `${one.type} ${one.code}: ${formatMessage(one, pkg, { color: false }) ?? ''}`)
  return [...lines, ...typeProblems(await checkPackage(createPackageFromTarballData(bytes)))]
}
