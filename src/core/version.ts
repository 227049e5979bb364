/** Name and versions of this program, in one place. */
import manifest from '../../package.json' with { type: 'json' }

export const version: string = manifest.version
/** Version of its protocol. */
export const protocolVersion = '0.10.0'
export const serviceName = 'cstp'
