/** Resolves paths as a shell would, without looking at files, and says what they are. */
import type { Access, PathClass, Surroundings, Target } from './model.ts'

/** Stands for a part of a text that is only known at run time. */
export const unknown = '\u0000'

/** What paths are resolved against. */
export interface Base {
  /** Absolute; null after `cd` to a folder that is not known. */
  cwd: string | null
  project: string
  home: string
  /** Folders of a container that are folders of the host; null for no container. Other paths of a container end with it. */
  mounts: readonly (readonly [inside: string, outside: string])[] | null
  /** Symbolic links that the line makes, by their path. */
  links: Map<string, string>
}

const assumedProject = '/home/user/project'

const homeOf = (path: string): string | null =>
  /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:\/Users\/[^/]+)(?=\/|$)/.exec(path)?.[0] ?? null

const slashed = (path: string): string => (/^[A-Za-z]:\\/.test(path) ? path.replaceAll('\\', '/') : path)

/** The root that a client names for the project around a folder; null unless it is one: a home folder that is a repository is no project. */
export function projectAround(cwd: string | null, root: string | null): string | null {
  if (cwd === null || root === null || !/^(?:\/|[A-Za-z]:[\\/])/.test(root)) return null
  const [here, all] = [normal(slashed(cwd)), normal(slashed(root))]
  return isBelow(here, all) && homeOf(all) !== all && !/^(?:[A-Za-z]:)?\/$/.test(all) ? all : null
}

/** The base of a line. Unknown folders are assumed to be a project in a home folder. */
export function baseOf({ cwd, project_dir }: Surroundings): Base {
  const here = cwd !== null && /^(?:\/|[A-Za-z]:[\\/])/.test(cwd) ? normal(slashed(cwd)) : null
  const given = project_dir !== null && /^(?:\/|[A-Za-z]:[\\/])/.test(project_dir) ? normal(slashed(project_dir)) : null
  const project = given ?? here ?? assumedProject
  return { cwd: here ?? project, project, home: homeOf(project) ?? '/home/user', mounts: null, links: new Map() }
}

/** Removes `.`, `..` and doubled slashes of an absolute path. */
export function normal(path: string): string {
  const drive = /^[A-Za-z]:/.exec(path)?.[0] ?? ''
  const steps: string[] = []
  for (const step of path.slice(drive.length).split('/')) {
    if (step === '' || step === '.') continue
    if (step === '..') steps.pop()
    else steps.push(step)
  }
  return `${drive}/${steps.join('/')}`
}

export const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)

/** The absolute path of a word; null if it is only known at run time. */
export function resolve(word: string, { cwd, home, mounts, links }: Base): string | null {
  const text = slashed(word.replace(/^file:\/\//, ''))
  if (text === '') return null
  // A variable that is not set leaves the slash.
  if (/^\0\/+(?:\*|\.\*|\{.*\})?$/.test(text)) return normal(text.slice(1))
  if (text.startsWith(unknown)) return null
  const tilde = /^~([\w.-]*)(?=\/|$)/.exec(text)
  let path = text
  if (tilde)
    path = `${tilde[1] === '' ? home : tilde[1] === 'root' ? '/root' : `/home/${tilde[1]}`}${text.slice(tilde[0].length)}`
  else if (/^[A-Za-z]:$/.test(text)) path = `${text}/`
  else if (!/^(?:\/|[A-Za-z]:\/)/.test(text)) {
    if (cwd === null) return null
    path = `${cwd}/${text}`
  }
  // A link itself is a file; what is below it is elsewhere.
  const isBelowLink = (link: string): boolean =>
    `${normal(path)}${path.endsWith('/') ? '/' : ''}`.startsWith(`${link}/`)
  const link = links.size === 0 ? undefined : [...links.keys()].find(isBelowLink)
  path = normal(link === undefined ? path : links.get(link) + normal(path).slice(link.length))
  if (mounts === null) return path
  const mount = mounts.find(([inside]) => isBelow(path, inside))
  if (mount) return normal(`${mount[1]}/${path.slice(mount[0].length)}`)
  return mounts.some(([inside]) => path === '/' || inside.startsWith(`${path}/`)) ? path : null
}

const caches =
  /^(?:\.cache|\.npm(?:\/_\w+)?|\.yarn\/(?:berry\/)?cache|\.pnpm-store|\.bun\/install\/cache|\.gradle\/(?:caches|daemon|wrapper)|\.m2\/repository|\.cargo\/registry|\.rustup\/(?:tmp|downloads)|\.nuget\/packages|\.pub-cache|\.ivy2\/cache|\.sbt\/boot|\.electron|\.node-gyp|\.jest|\.turbo|\.expo|\.local\/share\/(?:Trash|pnpm\/store|virtualenv|uv)|\.terraform\.d\/plugin-cache|\.docker\/buildx|\.vscode-server|\.Trash|Library\/(?:Caches|Logs|Developer\/(?:Xcode\/(?:DerivedData|iOS DeviceSupport|Archives)|CoreSimulator\/Caches)|pnpm\/store)|go\/pkg|AppData\/Local\/(?:Temp|npm-cache|pip\/cache|Yarn\/Cache))(?:\/|$)/

/** Below a home folder. */
const homeSecrets =
  /^(?:\.ssh(?!\/(?:config|known_hosts(?:\.old)?|[^/]+\.pub)$)|\.aws(?!\/config$)|\.azure|\.config\/gcloud|\.config\/gh\/hosts\.yml|\.config\/(?:op|rclone|doctl|hub|heroku|sops)|\.gnupg|\.netrc|\.authinfo|\.kube\/config|\.docker\/config\.json|\.npmrc|\.yarnrc\.yml|\.pypirc|\.gem\/credentials|\.cargo\/credentials(?:\.toml)?|\.git-credentials|\.pgpass|\.my\.cnf|\.vault-token|\.terraform\.d\/credentials\.tfrc\.json|\.password-store|\.local\/share\/keyrings|\.mozilla|\.config\/(?:google-chrome|chromium|BraveSoftware)|Library\/(?:Keychains|Application Support\/(?:Google\/Chrome|Firefox|BraveSoftware))|\.claude\/\.credentials\.json|\.codex\/auth\.json|\.gemini\/(?:oauth_creds|google_accounts)\.json|\.config\/github-copilot|\.local\/share\/opencode\/auth\.json|\.bitcoin|\.ethereum|\.electrum|wallet\.dat)(?:\/|$)/

const secretNames =
  /(?:^|\/)(?:\.env(?!\.(?:example|sample|template|dist|defaults?|schema|test)(?:\.|$))(?:\.[\w.-]+)?|\.envrc|\.netrc|\.pgpass|\.git-credentials|\.htpasswd|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?|[\w.-]+\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|key)|service[-_]?account[\w.-]*\.json|credentials(?:\.json|\.ya?ml|\.toml)?|client_secret[\w.-]*\.json|secrets?\.(?:json|ya?ml|toml|env)|master\.key|kubeconfig|terraform\.tfstate(?:\.backup)?)$/

const systemSecrets =
  /^\/(?:etc\/(?:shadow-?|gshadow-?|sudoers(?:\.d\/.*)?|ssl\/private\/.*|ssh\/ssh_host_\w+_key|krb5\.keytab|kubernetes\/.*\.conf)|proc\/[^/]+\/environ|run\/secrets\/.*|var\/run\/secrets\/.*)$/

/** Files of the guard itself, below a project or a home folder. */
const guardFiles =
  /(?:^|\/)(?:\.(?:claude|codex|cursor|gemini|opencode)$|\.cstp(?:\/|$)(?!decisions\/|adr\/)|\.(?:claude|codex|gemini|cursor)\/\0$|\.claude\/(?:settings(?:\.local)?\.json|hooks(?:\/|$))|\.codex\/(?:config\.toml|hooks(?:\.json|\/|$))|\.cursor\/hooks(?:\.json|\/|$)|\.gemini\/settings\.json|\.github\/hooks(?:\/|$)|\.copilot\/(?:config\.json|hooks(?:\/|$))|\.config\/(?:opencode\/(?:opencode\.jsonc?|plugins?(?:\/|$))|systemd\/user\/cstp[\w.-]*)|(?:\.opencode\/)?opencode\.jsonc?$|\.opencode\/plugins?(?:\/|$)|Library\/LaunchAgents\/[\w.]*cstp[\w.]*)/
const cstpSecrets = /(?:^|\/)\.cstp\/(?:[\w.-]*token|keys(?:\/|$)|workspace_key)/

const temps =
  /^(?:\/tmp|\/var\/tmp|\/private\/(?:tmp|var\/folders)|\/var\/folders|\/dev\/shm|[A-Za-z]:\/(?:Windows\/)?Temp)(?:\/|$)/i
const harmless = /^(?:\/dev\/(?:null|zero|full|u?random|std(?:in|out|err)|tty\w*|fd\/\d+|pts\/\d+)|nul)$/i

/** What is left of a path without a glob at its end that takes everything. */
const withoutGlob = (path: string): { folder: string; glob: boolean } => {
  const found =
    /^(.*?)\/(?:\*|\.\*|\*\*(?:\/\*)?|\.\[!?\.?\]\*|\{\*,\.\*\}|\.\?\*|\?\*|\*\.\*|\{\.,\}\*|\.\{\*\}|\[!?\.?\]\*)$/.exec(
      path,
    )
  return found
    ? { folder: found[1] === '' || /^[A-Za-z]:$/.test(found[1]!) ? `${found[1]}/` : found[1]!, glob: true }
    : { folder: path, glob: false }
}

/** The data of a repository that was cloned into the project is not its history. */
const isHistory = (path: string, project: string): boolean =>
  !isBelow(path, project) || /^\/\.(?:git|hg|svn|jj)(?:\/|$)/.test(path.slice(project === '/' ? 0 : project.length))

export function classOf(path: string, { project, home }: Base): PathClass {
  const { folder } = withoutGlob(path)
  if (harmless.test(path)) return 'temp'
  const inHome = homeOf(folder)
  const below = inHome === null ? null : folder.slice(inHome.length + 1)
  if (cstpSecrets.test(folder)) return 'secret'
  if (guardFiles.test(folder)) return 'guard'
  if (below !== null && homeSecrets.test(below)) return 'secret'
  if (secretNames.test(folder) || systemSecrets.test(folder)) return 'secret'
  const inside = isBelow(folder, project)
  if (!inside && temps.test(folder)) return 'temp'
  if (
    isHistory(folder, project) &&
    /(?:^|\/)\.(?:git|hg|svn|jj)(?:\/|$)/.test(folder) &&
    !/\.git\/(?:index\.lock|[\w/-]+\.lock|COMMIT_EDITMSG|hooks\/[\w-]+\.sample)$/.test(folder)
  )
    return 'vcs'
  if (/^(?:[A-Za-z]:)?\/$/.test(folder)) return 'root'
  if (inside) return 'inside_project'
  if (below !== null && caches.test(below)) return 'temp'
  if (inHome !== null || isBelow(folder, home)) return 'home'
  // Programs keep what they can make again in folders of these names.
  return /^\/.+\/(?:tmp|caches?)\/./.test(folder) ? 'temp' : 'system'
}

const disks = /^\/dev\/(?:\0|r?disk\d|[shvx]v?d[a-z]|disk\/by-|nvme\d|mmcblk\d|dm-\d|mapper\/.|md\d|zd\d|loop\d)/

/** All of something: a disk, the project, a folder above it, a home folder, or a folder directly in the root of a file system. */
function isWhole(path: string, { project, home }: Base): boolean {
  if (disks.test(path)) return true
  const { folder } = withoutGlob(path)
  if (isBelow(project, folder) || isBelow(home, folder) || homeOf(folder) === folder) return true
  return /^(?:[A-Za-z]:)?\/[^/]*$/.test(folder) && !temps.test(folder)
}

/** A target at a path that is already absolute. */
export function targetAt(path: string, access: Access, base: Base, recursive = false): Target {
  const kind = classOf(path, base)
  const { folder } = withoutGlob(path)
  const outside = kind !== 'temp' && !temps.test(folder) && !isBelow(folder, base.project)
  return {
    path,
    class: kind,
    access,
    outside,
    whole: isWhole(path, base),
    recursive: recursive || path.endsWith('/**'),
  }
}

/** A target of a word; null if its path is only known at run time. */
export function targetOf(word: string, access: Access, base: Base, recursive = false): Target | null {
  const path = resolve(word, base)
  return path === null ? null : targetAt(path, access, base, recursive)
}
