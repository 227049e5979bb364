/** What this program is, in one place. */
import manifest from '../../package.json' with { type: 'json' }

export const version: string = manifest.version
/** Version of the protocol that it speaks. */
export const protocolVersion = '0.10.0'
export const serviceName = 'cstp'
