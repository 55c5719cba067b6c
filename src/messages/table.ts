/**
 * The English text of every error and problem that a person can see, by its id. `{name}` stands for
 * a parameter. Clients receive id and parameters as `google.rpc.ErrorInfo`, so an id is part of the
 * contract: a text may change with any version, an id does not. The Chinese table is
 * `src/data/i18n/zh-CN/errors.json`.
 */
export const MESSAGES = {
  AND_MORE: "{problem} (and {count} more)",

  // Access
  TOKEN_MISSING:
    'the admin token is missing: send it in the header (or metadata) "authorization", as it is or after "Bearer "',
  TOKEN_WRONG:
    'the admin token is wrong: compare it with the setting "token"; it may have been reset',
  TOKEN_RESET: "the token was reset or revoked",
  TOO_MANY_WRONG_TOKENS:
    "too many wrong tokens came from this address; a right one is taken at any time, another wrong one is looked at in {seconds} s",
  SCOPE_MISSING: "this token has no scope {scope}",
  SCOPES_NOT_HELD: "nobody gives more than they hold: this token has no scope {scopes}",
  PERMANENT_TOKEN_REQUIRED: "this takes the permanent admin token itself",
  LIMITED_TOKEN: "this token is limited to some settings, and this is about all of them",
  OUTSIDE_LIMITS: "this token is limited to {limits}: nothing was read or changed",
  PERMANENT_TOKEN_CHANGES_ITSELF: "the permanent admin token is changed with itself alone",
  SCOPED_TOKEN_WRONG:
    "this token is wrong, or it was revoked or has ended: whoever gave it can make another",
  TOKEN_ENDED: "the token has ended",
  PRINCIPAL_EXISTS: "there is a principal {name} already",
  PRINCIPAL_DISABLED: "the principal {name} is disabled",
  PRINCIPAL_NOT_FOUND: "there is no principal {name}",
  TOKEN_TO_ROTATE_ENDED: "the token {id} has ended: make another",
  TOKEN_HAS_SUCCESSOR: "the token {id} has a successor already: {successor}",
  TOKEN_NOT_FOUND: "there is no token with the id {id}",
  TOO_MANY_TOKENS:
    "there are {most} tokens already; those that have ended go some time after (MOORING_ENDED_TOKEN_AGE)",
  TOO_MANY_PRINCIPALS: "there are {most} principals already",
  SCOPE_UNKNOWN: "{scope} is no scope: there are {scopes}",
  SCOPES_MISSING: "give at least one scope: {scopes}",
  TOO_MANY_LIMITS: "at most {most} limits fit a token",
  LIMIT_INVALID:
    "{limit} is no limit: write key:NAME, where * stands for any text (key:s3_*), group:NUMBER, or mount:/PATH",
  SCOPE_TAKES_NO_LIMIT: "{scope} knows no limit: make two tokens, or leave it out",
  COMMENT_TOO_LONG: "the comment has more than {most} characters",
  EXPIRY_AMBIGUOUS: "a token ends at a time or never: give one of both",
  EXPIRY_IN_PAST: "the end is in the past: it is {now} now",
  OVERLAP_INVALID: "the overlap is 0 to 30 days, such as 24h",
  PRINCIPAL_NAME_RESERVED:
    'a principal\'s name has 1 to 64 characters of a-z, 0-9, ".", "_" and "-" and none that the program itself uses: {name} is not one',
  PRINCIPAL_NAME_INVALID:
    'a principal\'s name has 1 to 64 characters of a-z, 0-9, ".", "_" and "-": {name} is not one',

  // Service
  SERVICE_STOPPING: "the service stops; watch again in a moment",

  // Drivers, settings, history and audit
  DRIVER_NOT_FOUND: "driver [{name}] not found{hint}",
  DID_YOU_MEAN: " Did you mean {names}?",
  SETTING_NOT_FOUND: 'there is no setting "{key}"',
  SETTING_IN_USE: 'the setting "{key}" is in use; only deprecated ones (flag 3) can be deleted',
  SETTING_MANAGED: "{key} is managed by {file}: change it there; nothing was saved",
  REVISION_NOT_FOUND: "there is no revision {revision}; the newest is {newest}",
  AUDIT_ROWS_FORGOTTEN:
    "what came after row {row} of the audit is not kept any more; the oldest row is {oldest}",
  AUDIT_ROW_NOT_YET: "there is no row {row} of the audit yet; the newest is {newest}",
  AUDIT_DATABASE_OLDER: "the database is an older one now: read the audit anew",
  AUDIT_NOT_WRITTEN: "nothing was handed out, because the audit can't be written: {reason}",
  SUBJECT_PATTERN_TOO_LONG: "the pattern of subject has more than {most} characters",
  TOO_MANY_NAMES: "there are more than {most} {field}",
  REVISION_FORGOTTEN: "revision {revision} is not kept any more; the oldest is {oldest}",
  NOTHING_CHANGED: "nothing was changed: {reason}. Read again, then decide anew",
  FIELD_MISSING: '"{field}" is missing',
  KEYS_MISSING: "give at least one key",
  VIEW_INVALID: "must be basic or full, or be left out",
  VALUES_AMBIGUOUS: "give values or text_values, not both",
  KEY_REPEATED: "{key} stands twice in this save; send each key once",
  SAVE_TOO_LARGE: "a save takes at most {most} settings, this one has {count}: send it in parts",
  INTEGER_INVALID: "must be a whole number in digits, such as {example}{instead}",
  NUMBER_INVALID: "must be a number in digits, such as {example}{instead}",
  BOOLEAN_INVALID: "must be true or false{instead}",
  TOO_SMALL: "must be at least {bound}{instead}",
  TOO_LARGE: "must be at most {bound}{instead}",
  OPTION_INVALID: "must be one of {options}{instead}",
  TOO_MANY_BYTES: "has more than {bytes} bytes, which is the most that is possible",
  NUL_CHARACTER: "must not contain the NUL character",
  SCHEME_INVALID: "must begin with {schemes}",
  ADDRESS_WITH_SPACE: "must be an address without spaces or line breaks",
  JSON_INVALID: "must be JSON: {reason}",
  PAGE_SIZE_INVALID: "{field} is a number from 1 to {most}, not {value}",
  PAGE_TOKEN_INVALID: "page_token is none that a page before has given",

  // Items of a driver
  ITEM_REQUIRED: "is required",
  ITEM_EMPTY: "is required: must not be empty",
  ITEM_UNKNOWN: "is not an item of this driver.{hint}",
  ITEM_OPTION_INVALID: "must be one of {options}",
  ITEM_NOT_TEXT: "must be text, not {kind}",
  ITEM_NOT_INTEGER: "must be a whole number, not {kind}",
  ITEM_NOT_NUMBER: "must be a number, not {kind}",
  ITEM_FRACTION: "must be a whole number",
  ITEM_NO_NUMBER: "must be a number",
  ITEM_TOO_SMALL: "must not be less than {bound}",
  ITEM_TOO_LARGE: "must not be more than {bound}",
  ITEM_TOO_LONG: "is longer than {most} characters",

  // Rollback, import and synchronization of one setting
  SECRET_NOT_IN_HISTORY: "is secret: the history does not keep its value; set it anew",
  SET_BY_PROGRAM: "is readonly: the program sets it",
  READONLY: "is readonly",
  MANAGED_BY_FILE: "is managed by {file}",
  SETTING_OF_EARLIER_VERSION: "was a setting of an earlier version of the program",
  NOT_WRITABLE_BY_TOKEN: "is none that this token may write",
  WRITTEN_BY_EACH_SERVER: "is written by each server itself",
  MASKED_IN_BACKUP: "is masked in this backup, so its value is not known",
  STAYS_AS_IT_IS: "stays as it is here: {reason}",
  SECRET_LEFT_OUT: "is a secret, and was left out when the backup was written",
  SEALED_IN_BACKUP: "is sealed; give the passphrase",
  OTHER_THINGS_IN_BACKUP: "{count} of them: Mooring keeps settings only",
  DIFFERS_BY_SITE: "often differs from site to site",
  READ_AT_START: "the site reads it at its next start",
  ROLE_BY_NAME: "the site lists and takes a role by its name; roles differ from site to site",
  DOWNLOAD_MANAGER_STEP: "the site connects the download manager in a step of its own",
  REMOVED_PAIRS_ACT: "removed pairs act until the site restarts",
  KEY_UNKNOWN_TO_SITE: "the site does not know this key",
  FLAPPING: "somebody keeps changing it at the site",
  SITE_KEPT_VALUE: "the site said yes, and kept its value",
  NO_ANSWER: "no answer came",
  SITE_MADE_OTHER_VALUE: "the site has made another value of it",
  SAVED_MEANWHILE: "somebody else saved it meanwhile",
  CHANGED_MEANWHILE: "was changed here meanwhile",
  SECRET_STAYS_AT_SITE: "is a secret that Mooring does not know: it stays at the site",
  PUT_RIGHT: "was changed at the site; put right",
  LEFT_ALONE: "was put right three times within ten minutes and changed again: left alone",
  THERE_NOW: "there now",
  TAKEN_AND_LEFT: "{taken} taken, {left} left",

  // Calls to a site
  CERTIFICATE_NOT_TRUSTED:
    "the certificate of {at} is not trusted ({reason}): give its authority (ca) or its fingerprint (certificate_sha256)",
  NO_TLS: "{at} speaks no TLS: is it http://?",
  UNREACHABLE: "{at} can't be reached: {reason}",
  CAUSE_REFUSED: "nothing listens there",
  CAUSE_NAME_UNKNOWN: "the name is not known",
  CAUSE_CLOSED: "the connection was closed",
  CAUSE_BROKEN: "the connection broke",
  CAUSE_NO_ANSWER: "the machine does not answer",
  NOT_HTTP: "what answers there is no HTTP; if it speaks TLS, write its address with https://",
  NOT_A_SETTINGS_LIST: "{at} sends a list that is no list of settings",
  SITE_IS_MOORING: "{at} is a Mooring itself: name the address of the server behind it",
  SITE_REFUSES_TOKEN: "{at} refuses the token: {words}",
  SITE_FORBIDS: "{at} says 403: {words}",
  SITE_LOADING: "{at} is loading: {words}",
  SITE_REDIRECTS: "{at} points to {location}: give that address, without the rest of its path",
  SITE_SPEAKS_TLS: "{at} speaks TLS, and was asked without: write its address with https://",
  SITE_ANSWERS_PAGE:
    "{at} answers with a web page: is the path right? A site below a path has it in its address, such as https://host/files",
  SITE_ANSWERS_OTHERWISE:
    "{at} answers with HTTP {status} and {type}, not as an OpenList or AList does",
  SITE_JSON_INVALID: "{at} sends JSON that can't be read",
  SITE_ANSWER_TOO_LARGE: "{at} sends more than {most}, which no list of settings has",
  FINGERPRINT_MISMATCH: "the certificate has the SHA-256 fingerprint {found}, not the expected one",
  SITE_TOKEN_UNKNOWN: "its token is not known yet",

  // Sites
  SITE_NAME_INVALID:
    "{field} has 1 to 64 letters, digits, dots, lines below or hyphens, and begins with a letter or digit",
  SITE_URL_INVALID:
    "{field} is no address: write it as http://HOST:PORT or https://HOST, with the path that the site is below, if any",
  SITE_URL_WITH_USER:
    "{field} has a user or a password, which belong to no site: the token goes elsewhere",
  SITE_URL_WITH_QUERY: "{field} has something after its path",
  SITE_TOKEN_MISSING: '{field} is missing: it is the site\'s own, in its settings under "Other"',
  SITE_TOKEN_INVALID: "{field} has a space or a character that no header carries",
  CERTIFICATE_TOO_LONG: "{field} is longer than 64 KiB",
  CERTIFICATE_INVALID: "{field} is no certificate in PEM form",
  FINGERPRINT_INVALID:
    "{field} is no SHA-256 fingerprint: 64 hexadecimal digits, colons don't count",
  TOO_MANY_PATTERNS: "{field} has more than {most} patterns",
  TOO_MANY_OVERRIDES: "{field} has more than {most} values",
  PATTERN_LENGTH: "{field} has 1 to 255 characters",
  PATTERN_GROUP_INVALID: "{field} names a group by its number, such as group:9",
  PATTERN_WITH_SPACE: "{field} has no white space and no comma: write several patterns",
  OVERRIDE_OF_SITES_OWN: "{field} is the site's own: it is never pushed",
  OVERRIDE_UNKNOWN: "{field} is for a key that neither Mooring nor the site knows.{hint}",
  SETTING_IS_SITES_OWN: "{name} is the site's own: it is neither taken nor sent",
  SETTING_UNKNOWN_TO_SITE: "neither Mooring nor the site has a setting {name}.{hint}",
  SITE_NOT_FOUND: "there is no site {name}.{hint}",
  SITE_EXISTS: 'there is a site named "{name}" already',
  SITE_ADDRESS_TAKEN: 'the site "{name}" has this address already: {url}',
  TOO_MANY_SITES: "there are {most} sites already",

  // Bounds of settings
  REVISION_NOT_REACHED:
    "this instance shows revision {shown} and not yet {asked}: try again in a moment, or elsewhere",
  AT_LEAST_REVISION_INVALID:
    'mooring-at-least-revision is a revision as replies name it, such as 42, not "{text}"',
  TOO_MANY_KEYS: "give at most {most} keys, not {count}",
  TOO_MANY_CUSTOM_SETTINGS:
    "there would be {count} custom settings, and at most {most} are kept: delete some first, or raise MOORING_MAX_CUSTOM_SETTINGS; nothing was saved",
  SETTINGS_TOO_LARGE:
    "all settings together would take {count} bytes, and at most {most} are kept: shorten or delete some first, or raise MOORING_MAX_SETTINGS; nothing was saved",
  PUBLIC_SETTINGS_TOO_LARGE:
    "all public settings together would take {count} bytes, and at most {most} are kept: shorten some or make them private first, or raise MOORING_MAX_PUBLIC_SETTINGS; nothing was saved",
  LIMITS_TOO_LONG:
    "all limits of a token have at most {most} characters together: use fewer or shorter ones",
  SCOPES_REPEATED: "give each scope once: there are {count}",
  CHARACTER_INVALID:
    "must not contain characters that cannot be seen, that change the direction of text or that Unicode does not assign; it has {character}",
  TEXT_NOT_NFC:
    "must be in the Unicode form NFC: write letters with their accents as one character",
  KEY_CONFUSABLE:
    "looks like the setting {key} and is another text: write it with Latin letters, or take another key",
  OTHERS_WERE_SAVED: "{words}; the other settings were saved",
  TAKEN_BACK: "refused there: the value of the upstream was taken back",

  // Incidents and webhooks
  DO_REPLACE_CREDENTIAL:
    "Get a new credential from the provider, replace it in the mount, and disable and enable the mount.",
  DO_SIGN_IN:
    "The provider asks for a person: sign in there, confirm what it asks for, and enable the mount again.",
  DO_WAIT: "Wait until the provider's limit ends, free space, or list the mount less often.",
  DO_CHECK_NETWORK:
    "The site does not reach the provider: check network, DNS and proxy of the site's machine.",
  DO_COMPARE_CONFIGURATION:
    "A value of the mount is wrong: compare its paths and names with the provider's.",
  DO_READ_LOG: "Read the message, and the log of the site, which has more of it.",
  INCIDENT_NOT_FOUND: 'there is no incident "{id}"',
  INCIDENT_CLOSED: 'the incident "{id}" is closed',
  NOTE_TOO_LONG: "note has more than {most} characters",
  WEBHOOK_NOT_FOUND: 'there is no webhook "{name}".{hint}',
  WEBHOOK_EXISTS: 'there is a webhook "{name}" already',
  WEBHOOK_DISABLED: 'the webhook "{name}" is disabled: enable it first',
  TOO_MANY_WEBHOOKS: "there are {most} webhooks already: delete one first",
  DELIVERY_NOT_FOUND: 'there is no delivery "{id}"',
  WEBHOOK_NAME_INVALID:
    "{field} must have 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or digit",
  TEXT_TOO_LONG: "{field} must have at most {most} characters",
  WEBHOOK_URL_INVALID: "{field} must be an address that begins with https:// or http://",
  WEBHOOK_URL_WITH_USER:
    "{field} must have no user name and no password: give a key in its path or query",
  WEBHOOK_SECRET_INVALID:
    "{field} must be whsec_ followed by base64; leave it empty, and a key is made",
  WEBHOOK_SECRET_LENGTH:
    "{field} must hold {least} to {most} bytes in base64 after whsec_; leave it empty, and a key is made",
  VALUES_UNKNOWN: "{field} must be some of {names}",
  SITE_NAMES_INVALID: "{field} must be names of sites, at most {most}",
  VALUE_UNKNOWN: "{field} must be one of {names}",
  ADDRESS_NOT_PUBLIC: "{host} is no public address: set MOORING_WEBHOOK_TARGETS=any to allow it",
  DELIVERY_REDIRECTED: "HTTP {status}: redirects are not followed, give the final address",
  DELIVERY_TIMEOUT: "no reply within {seconds} s",
  DELIVERY_FAILED: "the request failed ({code})",
  DELIVERY_BROKEN: "the request failed",
  DELIVERY_WEBHOOK_DISABLED: "the webhook was disabled",

  // Mounts
  FIELD_IMMUTABLE: "{field} can't be changed: delete the mount and create another one",
  FIELD_REQUIRED: "{field} is missing",
  DRIVER_UNKNOWN: "{field} is none of the drivers of this service.{hint}",
  SITE_NAME_MALFORMED: "{field} is no name of a site",
  MOUNT_TOO_LARGE: "{field} has more than {most} KiB with the other values of the mount",
  ITEM_NOT_IN_FORM: "{field} is no member of a mount's form",
  ITEM_IS_MEMBER: "{field} is a member: give it in members",
  LENGTH_OUT_OF_RANGE: "{field} must have 1 to {most} characters",
  CONTROL_CHARACTERS: "{field} must not contain control characters",
  TOO_MANY_ENTRIES: "{field} has more than {most} entries: send several",
  MOUNT_REPEATED: "{field}: {name} is in this request twice",
  TOO_MANY_MOUNTS: "there would be {count} mounts, and at most {most} are kept",
  CREDENTIAL_SHARED:
    "several sites would share {items}, which can be used once: the first site that refreshes it leaves the others without",
  CREDENTIAL_SHARED_HINT:
    "{name}: {problem}. Give each site its own by an override, or set allow_shared_credential",
  MOUNT_EXISTS: 'there is a mount "{name}" already',
  MOUNT_DELETED: 'the mount "{name}" was deleted: read it again',
  MOUNT_CHANGED:
    'the mount "{name}" has changed in revision {revision}, and revision {expected} was expected: read it again',
  MOUNT_PATH_OF: "{field} is the path of {whose}{where} already",
  MOUNT_NOT_FOUND: 'there is no mount "{name}".{hint}',
  MOUNT_NOT_ON_SITE: 'the site "{site}" is to have no mount "{name}"',
  GIVE_AT_LEAST_ONE: "{field}: give at least one",
  GIVE_FROM_1: "{field}: give 1 to {most}",
  SAVED_AT_SAME_TIME: "something was saved meanwhile, in revision {revision}: try again",
  DOCUMENT_INVALID: "document: must be an object with rows in storages, content or data",
  DOCUMENT_TOO_LONG: "document has more than {most} rows",
  COPY_SHARES_CREDENTIAL:
    "{copy} and {name} would share {items}, which can be used once. Save the copy with one of its own, or set allow_shared_credential",
  NOT_A_ROW: "is no row: mount_path and driver are missing",
  ADDITION_NOT_JSON:
    "its addition is no JSON object: a backup with a password is decrypted by the server",
  PATH_WITH_OTHER_DRIVER: 'the mount "{name}" has this path and another driver',
  CONFIGURATION_NOT_JSON: "its configuration is no JSON object",
  MOUNT_STAYS_ON: "it is on {sites} only from now on",
  ONLY_AT_SITE: "only the site has it: adopt it, or delete it there",
  LEFT_OUT: "left out: {names}",
  MOUNT_SECRETS_STAY: "{items}: secrets are not in the history and stay as they are",
  MOUNT_SECRETS_LOST:
    "{items}: the history keeps no secrets. The mount is incomplete, and no site gets it until they are given",
  MOUNT_INCOMPLETE:
    "incomplete: a rollback could not bring back {items}. Give the mount these values",
  COPY_INCOMPLETE: "{name} is incomplete: give it {items} first",
  MOUNT_PATH_TAKEN_THERE:
    "the site has another mount at {path}: delete it there, or choose another path",
  MOUNT_MOVED_THERE:
    "the site does not have it at {before}, and has a mount of its driver and number at {path}: sync it to create it again, or change its path here",
  MOUNT_DISABLED_SERVES:
    "the mount is stored as disabled and serves all the same: enable it, then disable it; delete nothing before",
  MOUNT_ENABLED_UNMOUNTED:
    "the mount is enabled and not mounted: store it as disabled by an update, then enable it",
  KEY_PREFIX_RESERVED: "must not begin with {prefix}, which is kept for mounts",
  MOUNT_FLAPPING:
    "is changed again and again on the site: it is left alone until it is pushed by choice",
  NO_CREDENTIAL: "{name} has no value of {item} that could be replaced",
  ROLLBACK_PATH_TAKEN:
    '{name}: its path is that of the mount "{other}": roll back both, or give one of them another path',

  // Parts of other messages
  NOT_VALUE: ", not {value}",
  NAMED_PROBLEM: "{name}: {problem}",
  AT_FIELD: "{field} {problem}",
  IN_BACKUP: "{name} in this backup {problem}",

  // Backups, sealing, formats of values, and other messages
  HEALTH_SERVICE_UNKNOWN: 'there is no service "{name}" here',
  MORE_PROBLEMS: "{problem}; {more}",
  MORE_LINES: "and {count} more lines are wrong",
  ONE_MORE_LINE: "and 1 more line is wrong",
  THE_MOUNT: 'the mount "{name}"',
  ANOTHER_MOUNT: "another mount",
  ON_SITE: ' on the site "{site}"',
  NO_SEALING_KEY: "no sealing key is configured",
  NOT_AMONG_KEYS: "none of the {count} configured keys is that one",
  KEYLESS: "a setting without a key",
  NOT_ADMIN: "You are not an admin",
  VISITOR_UNKNOWN: "the upstream does not say who you are: {words}",
  KIND_ARRAY: "an array",
  KIND_OBJECT: "an object",
  KIND_TEXT: "text",
  KIND_NUMBER: "a number",
  KIND_EMPTY_TEXT: "empty text",
  KIND_BOOLEAN: "true or false",
  OBJECT_INVALID: "must be a JSON object, not {kind}",
  TEXT_MAP_INVALID: "must be a JSON object of text to text, not {kind}",
  TEXT_MAP_ENTRY_INVALID: "must be a JSON object of text to text, but {name} is {kind}",
  BUCKETS_INVALID: "must be a JSON array of buckets, not {kind}",
  BUCKET_INVALID:
    "must be a JSON array of objects with name and path, both text; number {number} is not",
  VALUES_INVALID: "must be an object of item names and values, not {kind}",
  OUTCOME_REFUSED: "refused: {problem}",
  OUTCOME_UNKNOWN: "unknown: {problem}",
  OUTCOME_REWRITTEN: "rewritten: {problem}",
  OUTCOME_OVERTAKEN: "overtaken: {problem}",
  MOUNT_OTHER_DRIVER:
    "the site has a mount of the driver {driver} at this path, and a driver can't be changed: delete it there, or give this mount another path",
  MOUNT_UNDER_WAY: "the mount is still under way on the site: it is waited for",
  MOUNT_ID_TAKEN: "another mount has taken its id on the site meanwhile",
  MOUNT_NOT_LISTED: "the site answers that it has created the mount, and lists none",
  MOUNT_STILL_LISTED: "the site answers that it has deleted the mount, and lists it still",
  STREAM_STOPPING: "the service stops; resume in a moment, or elsewhere",
  BACKUP_ENCRYPTED_INVALID:
    '"encrypted" in this backup is not text: is it a backup of AList or OpenList?',
  BACKUP_PASSWORD_MISSING: "this backup is encrypted: give the password it was written with",
  BACKUP_PASSWORD_WRONG: "the password does not open this backup: it was written with another one",
  BACKUP_VALUE_DAMAGED:
    "{path}.{name} in this backup does not open, although the password is right: the file is damaged",
  BACKUP_TABLES_AMBIGUOUS:
    "{path} has several tables of settings ({tables}): say which one to read",
  BACKUP_OWN_DATABASE:
    "{path} is a database of Mooring's own: export its settings and import that file",
  BACKUP_TABLE_NOT_FOUND:
    "{path} has no table whose name ends in {suffix}: is it the database of an AList or OpenList server?",
  BACKUP_COLUMN_MISSING: "the table {table} has no column {columns}",
  BACKUP_NO_SUCH_TABLE: "this database has no table {table}",
  BACKUP_TABLE_TOO_LARGE:
    "the table {table} has {items} rows with {size} characters; at most {rows} rows and {bytes} characters are read",
  BACKUP_UNKNOWN:
    "this JSON is no backup that is known: neither Mooring's own, nor one of the AList or OpenList web page, nor a list of settings",
  NOT_A_FILE: "{path} is not a file",
  FILE_NOT_FOUND: "there is no file {path}",
  FILE_FORBIDDEN: "this user may not read {path}",
  BACKUP_ORIGIN_INVALID: '"created" and "databaseId" of this backup must be text',
  BACKUP_REVISION_INVALID: '"revision" of this backup is not a whole number',
  BACKUP_KEYS_INVALID: '"{name}" in this backup is not an array of keys',
  BACKUP_SECRETS_INVALID: '"secrets" in this backup is not an object',
  BACKUP_SECRETS_INCOMPLETE:
    '"secrets" in this backup needs the texts cipher, kdf, salt, nonce and sealed, and the numbers n, r and p',
  BACKUP_VERSION_INVALID: '"version" of this backup is not a whole number from 1',
  BACKUP_VERSION_NEWER:
    "this backup has version {version} and was written by a newer Mooring; this one reads version {known}",
  SEALING_UNKNOWN: "the secrets are sealed in a way that this version does not know",
  SEALING_COST_REFUSED:
    "the sealed secrets ask for scrypt with n={n}, r={r}, p={p}: accepted are n from {least} to {most} (a power of two), r=8 and p from 1 to {parallel}",
  SEALING_INCOMPLETE: "the sealed secrets are incomplete: the salt, nonce or text is too short",
  PASSPHRASE_TOO_SHORT: "a passphrase has at least {least} characters",
  PASSPHRASE_WRONG:
    "the passphrase does not open the sealed secrets: it is another one, or the document was changed after it was written",
  BACKUP_NOT_JSON: "this is not a whole JSON document: line {line}, column {column}: {reason}",
  BACKUP_TOO_LARGE: "this backup has {bytes} bytes; at most {most} ({mebibytes} MiB) are read",
  BACKUP_NOT_READABLE: "this file is neither text in UTF-8 nor a SQLite database",
  BACKUP_NOT_ARRAY: '"{name}" in this backup is not an array',
  BACKUP_TOO_MANY_SETTINGS: "this backup has {count} settings; at most {most} are read",
  TOKEN_STATE_UNKNOWN: "whether this token still holds can't be known at the moment: {reason}",
  OLD_TOKEN_MAY_HOLD: "it was saved, but another instance may still accept the old token: {reason}",
  STORE_UNREADABLE: "the {what} cannot be read: {reason}",
  SAVE_UNSURE: "whether this was saved is not known, read it before you try again: {reason}",
  SAVE_FAILED: "nothing was saved: {reason}",
  WEBHOOK_MISSING: '"webhook" is missing: give what it is to be',
  CONTENT_INVALID: "mounts[{at}].content must be MOUNT_CONTENT_ADOPT or MOUNT_CONTENT_OVERWRITE",
  SETTING_KEY_MISSING:
    'the setting "{key}" is sealed with the key {id}, and {have}: add that key to MOORING_SECRET_KEY (after the one that seals now), or restore the setting from a backup',
  SETTING_DOES_NOT_OPEN:
    'the sealed value of the setting "{key}" does not open: it was changed in the database, or copied there from another setting; restore it from a backup or set it anew',
  SEALING_KEY_TOO_SHORT:
    'sealing key number {number} is too short: give 32 random bytes in hexadecimal or base64 ("openssl rand -hex 32" makes them), or at least {least} characters of text',
  OPTIONS_NOT_EMPTY: "must be empty for a {type}",
  OPTIONS_EMPTY: "must list what can be chosen, separated by commas",
  WHOLE_NUMBER_RANGE: "must be a whole number from {min} to {max}",
  TYPE_INVALID: "must be string, text, number, bool or select",
  EMPTY: "must not be empty",
  KEY_TOO_LONG: "has more than {most} characters, which is the most that is possible",
  LINE_BREAK: "must not contain line breaks or other control characters",
  WHITE_SPACE_AROUND: "must not have white space around it",
  REASON_TOO_LONG: "the reason has {length} characters, and at most {most} are kept: shorten it",
  CHANGES_FORGOTTEN:
    "what came after revision {after} is not kept any more; the oldest revision kept is {oldest}: read everything anew, then watch from there",
  REVISION_NOT_YET: "there is no revision {start} yet; the newest is {head}",
  WATCHER_TOO_SLOW:
    "this reader fell more than {kibibytes} KiB behind and was dropped: resume after revision {after}",
  DATABASE_REPLACED: "the database was replaced by another or an older one: read everything anew",
  TOO_MANY_LINES: "has {count} lines; at most {most} are possible",
  LINE_PROBLEM: "line {line} {problem}",
  LINE_TOO_LONG: "has {count} characters; at most {most} are possible",
  TOO_DEEP: "must not have more than {most} arrays and objects in one another",
  PREVIEWS_INVALID: "must be a JSON object of file extensions to viewers, not {kind}",
  ENTRY_PROBLEM: "the entry for {name} {problem}",
  EXTENSIONS_MISSING: "must name file extensions, such as pdf or doc,docx",
  VIEWERS_INVALID: "must be an object of viewer name to address, not {kind}",
  VIEWER_INVALID: "must give the address of {name} as text, not {kind}",
  LINK_INVALID: "must be an address such as {scheme}://host:port/path; {advice}",
  IMAGE_LINK_INVALID:
    "must be an http or https address, a path or a data: URL, without spaces or line breaks",
  TOO_MANY_ITEMS: "has {count} items; at most {most} are possible",
  LIST_ITEM_PROBLEM: "must be a list separated by commas, but item {item} {problem}",
  LIST_ITEM_EMPTY: "is empty: remove the comma too many",
  ITEM_WHITE_SPACE: "has white space around it: {value}",
  ITEM_LINE_BREAK: "has a line break or control character: {value}",
  PATH_EMPTY: "is empty, which would stand for every path: remove it",
  PATH_WITHOUT_SLASH: "must begin with a slash: {value}",
  TOO_MANY_PORTS: "has {count} entries; at most {most} are possible",
  PORT_ENTRY_PROBLEM: "entry {entry}, {value}, {problem}",
  PORT_ENTRY_INVALID: "must be {form}",
  PORT_COUNTS_DIFFER:
    "exposes {one} ports and listens on {other}: both sides must have the same number",
  REGEX_FORM: "must be a regular expression between slashes, with flags behind, such as /\\.tmp$/i",
  REGEX_FLAGS:
    "has wrong flags behind the last slash: d, g, i, m, s, u and y are possible, each once",
  REGEX_INVALID: "is no regular expression: {reason}",
  SURROGATE: "must be Unicode text; it has half of a surrogate pair",
  VALUE_MISSING: "{name} has no value; send empty text to clear it",
  READONLY_SET: "is readonly: the program sets it; leave it out or send it back unchanged",
  READONLY_SENT: "{name}: is readonly; leave it out or send it back unchanged",
  SAVED_ALL_THE_TIME:
    "nothing was changed: others save the same settings all the time. Read again, then decide anew",
  SEALING_KEY_MISSING:
    'the secrets of this database are sealed, and this process has no key to seal "{key}" with: start it with the MOORING_SECRET_KEY of the others; nothing was saved',
  CERTIFICATE_UNKNOWN:
    "its certificate is not trusted ({code}); NODE_EXTRA_CA_CERTS names an authority of your own",
  UPSTREAM_NO_TLS: "it speaks no TLS: write its address with http://",
  UPSTREAM_NOT_CONNECTED:
    "it answers Mooring and was saved, but the upstream could not connect it: {words}",
  BEFORE_INVALID: "before is a sequence number, or 0",
  SITE_MISSING: '"site" is missing: give what it is to be',
  MODE_INVALID: "mode is SITE_MODE_OBSERVE or SITE_MODE_FOLLOW, not {mode}",
  SITE_CANNOT_FOLLOW:
    'the site "{name}" can\'t follow yet: nothing was adopted from it and nothing pushed to it. Compare it first ("mooring site compare {name}"), then adopt its values or sync Mooring\'s',
  MOUNT_LIST_INVALID: "the list of mounts has rows that are no mounts",
  MOUNT_ANSWER_INVALID: "the site answers with another mount than number {id}",
  SITE_GONE: "the site is gone",
  ADDRESS_PROBLEM: "{field} {description}, such as {example}",

  // Messages without an id of their own, by canonical code
  CODE_CANCELED: "The call was ended: {message}",
  CODE_UNKNOWN: "Something went wrong: {message}",
  CODE_INVALID_ARGUMENT: "Something in the request is wrong: {message}",
  CODE_DEADLINE_EXCEEDED: "It took too long: {message}",
  CODE_NOT_FOUND: "Not found: {message}",
  CODE_ALREADY_EXISTS: "It exists already: {message}",
  CODE_PERMISSION_DENIED: "Not allowed: {message}",
  CODE_RESOURCE_EXHAUSTED: "Too much at once: {message}",
  CODE_FAILED_PRECONDITION: "Not possible in this state: {message}",
  CODE_ABORTED: "Nothing was changed: {message}",
  CODE_OUT_OF_RANGE: "Out of range: {message}",
  CODE_UNIMPLEMENTED: "Not available here: {message}",
  CODE_INTERNAL: "Internal error. The log of the service says more.",
  CODE_UNAVAILABLE: "Not available for the moment: {message}",
  CODE_DATA_LOSS: "Data were lost: {message}",
  CODE_UNAUTHENTICATED: "Not signed in: {message}",
} as const;

export type MessageId = keyof typeof MESSAGES;
