/** Files that nobody sends away honestly: keys, wallets, password stores. */
export const STRONG_CREDENTIALS =
  /\.ssh[/\\](?:\*|identity|\s|["\x27`]|$)|\bid_(?:rsa|ed25519|ecdsa|dsa|\*)(?!\.pub|\w)|\.gnupg\b|\.password-store|wallet\.dat|keychain-db|Library\/Keychains|security (?:dump-keychain|find-(?:generic|internet)-password)|\/etc\/shadow|Login Data|cookies\.sqlite|key4\.db|logins\.json|Local Extension Settings|nkbihfbeogaeaoehlefnkodbefgpgknn|\.config[/\\]solana|\.ethereum[/\\]keystore|\.electrum|Exodus[/\\]|Electrum[/\\]wallets|atomic[/\\]Local Storage|User Data[/\\]Default|Application Support[/\\](?:Google[/\\]Chrome|BraveSoftware|Firefox|Exodus|Ledger)|\.config[/\\](?:google-chrome|chromium|BraveSoftware)|\.mozilla[/\\]firefox/i;

/** Files with tokens of tools, agents among them, which a skill may have a reason to read. */
export const TOOL_CREDENTIALS =
  /\.(?:openclaw|clawdbot|moltbot|clawd|claude|codex|gemini|cursor|continue|aider|switchyard|hermes)(?:[/\\][\w.-]{1,40}){0,3}[/\\](?:\.env\b|\.?credentials|[\w.-]{0,30}(?:auth|creds|config|settings|token|secret|profile)[\w.-]{0,30}|\w{1,20}\.json)|\.claude\.json|\.aws[/\\](?:credentials|config)|\.config[/\\](?:gcloud|gh|hub|doctl|op)\b|application_default_credentials|\.azure[/\\]|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.kube[/\\]config|\.docker[/\\]config\.json|\.terraform\.d|\.vault-token|\.cargo[/\\]credentials|\.(?:bash|zsh)_history|\.ssh[/\\]config|Local State/i;

/** Where rules about them begin to look; lower-case, for the one pass over a text. */
export const CREDENTIAL_HINTS: readonly string[] = [
  ".ssh/id_",
  ".ssh/*",
  "id_rsa",
  "id_ed25519",
  ".gnupg",
  "wallet.dat",
  "keychain",
  "/etc/shadow",
  "login data",
  "cookies.sqlite",
  "key4.db",
  "logins.json",
  "extension settings",
  "solana/id",
  ".aws/credentials",
  ".git-credentials",
  ".openclaw/",
  ".clawdbot/",
  ".moltbot/",
  ".claude/.cred",
  ".codex/auth",
  ".gemini/oauth",
];
