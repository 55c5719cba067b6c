/**
 * English texts of all errors and problems for people, by id. `{name}` stands for a parameter.
 * Clients receive id and parameters as `google.rpc.ErrorInfo`, so an id is part of the contract: a
 * text may change with any version, an id does not. The Chinese table is
 * `src/data/i18n/zh-CN/errors.json`.
 */
export const MESSAGES = {
  AND_MORE: "{problem} (and {count} more)",

  // Access
  TOKEN_MISSING:
    'missing token: send the admin token in the header (or metadata) "authorization", with or without "Bearer "',
  TOKEN_WRONG: 'invalid token: compare it with the setting "token"; it may have been reset',
  TOKEN_RESET: "the token was reset or revoked",
  TOO_MANY_WRONG_TOKENS: "too many failed attempts from this address; retry in {seconds} s",
  SCOPE_MISSING: "this token does not have the scope {scope}",
  SCOPES_NOT_HELD: "a token can only grant scopes that it has: this token does not have {scopes}",
  PERMANENT_TOKEN_REQUIRED: "this call requires the permanent admin token",
  LIMITED_TOKEN: "this token is limited to some settings, and this call concerns all of them",
  OUTSIDE_LIMITS: "this token is limited to {limits}: nothing was read or changed",
  PERMANENT_TOKEN_CHANGES_ITSELF:
    "only the permanent admin token can change the permanent admin token",
  SCOPED_TOKEN_WRONG:
    "invalid token: it is unknown, revoked or expired; ask its issuer for a new one",
  TOKEN_ENDED: "the token has expired",
  PRINCIPAL_EXISTS:
    "the principal {name} exists already, as a {kind}: create tokens for it, or choose another name",
  PRINCIPAL_EXISTS_DISABLED:
    "the principal {name} exists already and is disabled for good: choose another name",
  KIND_PROGRAM: "program",
  KIND_PERSON: "person",
  PRINCIPAL_DISABLED: "the principal {name} is disabled",
  PRINCIPAL_NOT_FOUND: "there is no principal {name}",
  TOKEN_TO_ROTATE_ENDED: "the token {id} has expired: create a new one",
  TOKEN_HAS_SUCCESSOR: "the token {id} has been rotated already: its successor is {successor}",
  TOKEN_NOT_FOUND: "there is no token with the id {id}",
  TOO_MANY_TOKENS:
    "there are {most} tokens already; expired tokens are deleted after MOORING_ENDED_TOKEN_AGE",
  TOO_MANY_PRINCIPALS: "there are {most} principals already",
  SCOPE_UNKNOWN: "unknown scope {scope}: the scopes are {scopes}",
  SCOPES_MISSING: "give at least one scope: {scopes}",
  TOO_MANY_LIMITS: "a token takes at most {most} limits",
  LIMIT_INVALID:
    "invalid limit {limit}: write key:NAME, where * matches any text (key:s3_*), group:NUMBER, or mount:/PATH",
  SCOPE_TAKES_NO_LIMIT: "the scope {scope} cannot be limited: create two tokens, or omit the scope",
  COMMENT_TOO_LONG: "the comment has more than {most} characters",
  EXPIRY_AMBIGUOUS: "give either an expiry time or no expiry, not both",
  EXPIRY_IN_PAST: "the expiry time is in the past: the time is {now}",
  OVERLAP_INVALID: "the overlap must be 0 to 30 days, such as 24h",
  PRINCIPAL_NAME_RESERVED:
    'invalid name {name}: a principal\'s name has 1 to 64 characters of a-z, 0-9, ".", "_" and "-" and must not be reserved by the program',
  PRINCIPAL_NAME_INVALID:
    'invalid name {name}: a principal\'s name has 1 to 64 characters of a-z, 0-9, ".", "_" and "-"',

  // Service
  SERVICE_STOPPING: "the service is stopping; watch again in a moment",

  // Drivers, settings, history and audit
  DRIVER_NOT_FOUND: "driver [{name}] not found{hint}",
  DID_YOU_MEAN: " Did you mean {names}?",
  SETTING_UNDEFINED: "there is no such setting.{hint}",
  SETTING_NOT_FOUND: 'there is no setting "{key}"',
  SETTING_IN_USE: 'the setting "{key}" is in use; only deprecated settings (flag 3) can be deleted',
  KEPT_SECRET_REDIRECTED: "{field} is required again, because {by} changes its destination",
  SETTING_REDIRECTS:
    "{key} decides the destination of {secrets}: send {secrets} too, or use a token with the scope settings:reveal",
  SETTING_MANAGED: "{key} is managed by {file}: change it there; nothing was saved",
  REVISION_NOT_FOUND: "there is no revision {revision}; the newest is {newest}",
  AUDIT_ROWS_FORGOTTEN:
    "the audit rows after row {row} have been deleted; the oldest row is {oldest}",
  AUDIT_ROW_OTHER:
    "row {row} of the audit differs from that of the etag: the database was restored from a copy; read the rows again",
  AUDIT_ETAG_INVALID: "after_etag must be the etag of a message of this stream",
  AUDIT_ROW_NOT_YET: "row {row} of the audit does not exist yet; the newest is {newest}",
  AUDIT_DATABASE_OLDER: "the database was replaced by an older one: read the audit from the start",
  AUDIT_NOT_WRITTEN: "nothing was returned, because the audit cannot be written: {reason}",
  SUBJECT_PATTERN_TOO_LONG: "the pattern in subject has more than {most} characters",
  TOO_MANY_NAMES: "there are more than {most} {field}",
  REVISION_FORGOTTEN: "revision {revision} has been deleted; the oldest revision is {oldest}",
  NOTHING_CHANGED: "nothing was changed: {reason}. Read again and retry",
  FIELD_MISSING: '"{field}" is missing',
  KEYS_MISSING: "give at least one key",
  VIEW_INVALID: "must be basic, full, or empty",
  VALUES_AMBIGUOUS: "give either values or text_values, not both",
  KEY_REPEATED: "{key} occurs twice in this save; send each key once",
  SAVE_TOO_LARGE: "a save takes at most {most} settings, this one has {count}: split it",
  INTEGER_INVALID: "must be a whole number in digits, such as {example}{instead}",
  NUMBER_INVALID: "must be a number in digits, such as {example}{instead}",
  BOOLEAN_INVALID: "must be true or false{instead}",
  TOO_SMALL: "must be at least {bound}{instead}",
  TOO_LARGE: "must be at most {bound}{instead}",
  OPTION_INVALID: "must be one of {options}{instead}",
  TOO_MANY_BYTES: "must not have more than {bytes} bytes",
  NUL_CHARACTER: "must not contain the NUL character",
  SCHEME_INVALID: "must begin with {schemes}",
  ADDRESS_WITH_SPACE: "must be an address without spaces or line breaks",
  JSON_INVALID: "must be JSON: {reason}",
  PAGE_SIZE_INVALID: "{field} must be a number from 1 to {most}, not {value}",
  PAGE_TOKEN_INVALID: "invalid page_token",

  // Items of a driver
  ITEM_REQUIRED: "is required",
  ITEM_EMPTY: "is required and must not be empty",
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

  // Folder rules
  VALUE_NOT_TEXT: "{field} must be a text",
  VALUE_NOT_SWITCH: "{field} must be true or false",
  VALUE_NOT_LIST: "{field} must be a list of texts",
  TEXT_TOO_LARGE: "{field} has {size} bytes, and the limit is {most}",
  TOO_MANY_USER_NAMES: "{field} has more than {most} names",
  USER_NAME_INVALID: "{field} must have 1 to {most} characters, and no control characters",
  RULE_TOO_LARGE: "{field} has more than {most} KiB together with the other values of the rule",
  RULE_REPEATED: "{field}: {path} occurs twice in this request",
  TOO_MANY_RULES: "there would be {count} folder rules, and the limit is {most}",
  RULE_EXISTS: "{path} has a folder rule already",
  RULE_DELETED: "the folder rule of {path} was deleted: read it again",
  RULE_CHANGED:
    "the folder rule of {path} was changed in revision {revision} and no longer has the expected etag {expected}: read it again",
  RULE_NOT_FOUND: "{path} has no folder rule.{hint}",
  THE_RULE: "the folder rule of {path}",
  ANOTHER_RULE: "another folder rule",
  PASSWORD_REDIRECTED:
    "{field} is required again, because a site would get it for the first time; a token with the scope rules:reveal may keep it",
  RULE_ROLLBACK_REDIRECTS:
    "not restored, because a site would get {items} for the first time: use a token with the scope rules:reveal, or save the rule with these passwords",
  RULE_PASSWORDS_LOST:
    "{items}: the history keeps no passwords. The rule is incomplete, and no site gets it until they are given",
  RULE_PASSWORDS_NOT_IN_DOCUMENT:
    "{items}: the document has no passwords. The rule is incomplete, and no site gets it until they are given",
  VALUE_NOT_MAPPING: "{field} must be a mapping",
  SITES_OF_ENTRY: "{field} must be a list of names, all or none",
  RULE_MEMBER_UNKNOWN: "a folder rule has no {name}.{hint}",
  CONTENT_OF_ENTRY: "{field} must be adopt or overwrite",
  MOUNT_NOT_MAPPING: "{name} must be a mapping with path and driver",
  MOUNT_MEMBER_UNKNOWN: "a mount has no {name}.{hint}",
  RULE_SECRET_UNKNOWN: 'no folder rule has a secret "{name}"',
  RULE_ROW_INVALID: "it is not a folder rule with a path",
  RULE_ROW_USERS:
    "its users have the ids of that server, and without them the folder would be open: adopt it from the site, or create it with names",
  RULES_WITHOUT_SERVERS: "no server can be reached from here: ask the running service",

  // Rollback, import and synchronization of one setting
  SECRET_NOT_IN_HISTORY: "is a secret: its value is not in the history; set it again",
  CHANGED_SINCE_READ:
    "was changed by another caller in revision {revision}, after this value was read",
  NEWER_VALUES_STAY:
    "not saved: {keys}. Another caller has changed them since this page was loaded, and their values stay: reload the page",
  ETAG_INVALID: "{field} must be an etag of a read, or 0",
  ETAG_UNKNOWN:
    '"{etag}" is not a state of this database, which may have been restored from a copy: read again and retry',
  HEADER_NOT_TEXT: "{name} is not UTF-8, percent-encoded UTF-8, or base64 of UTF-8 (-bin)",
  SET_BY_PROGRAM: "is read-only: the program sets it",
  READONLY: "is read-only",
  MANAGED_BY_FILE: "is managed by {file}",
  SETTING_OF_EARLIER_VERSION: "was a setting of an earlier version of the program",
  NOT_WRITABLE_BY_TOKEN: "is outside the limits of this token",
  UPSTREAM_OWN: "belongs to the server: change it there",
  UPSTREAM_OWN_STAYS: "not saved: {key}. It belongs to the server: change it there",
  SERVER_OWN: "belongs to the server of the backup: it is imported only on request",
  MASKED_IN_BACKUP: "is masked in this backup, so its value is not known",
  STAYS_AS_IT_IS: "is left unchanged: {reason}",
  SECRET_LEFT_OUT: "is a secret and was omitted when the backup was written",
  SEALED_IN_BACKUP: "is sealed; give the passphrase",
  OTHER_THINGS_IN_BACKUP: "not kept by Mooring: {count} in the file",
  DIFFERS_BY_SITE: "often differs from site to site",
  READ_AT_START: "the site reads it at its next start",
  ROLE_BY_NAME: "the site identifies a role by its name; roles differ from site to site",
  DOWNLOAD_MANAGER_STEP: "the site connects the download manager in a separate step",
  REMOVED_PAIRS_ACT: "removed pairs remain active until the site restarts",
  KEY_UNKNOWN_TO_SITE: "this key does not exist on the site",
  FLAPPING: "another client keeps changing it on the site",
  SITE_KEPT_VALUE: "the site accepted the save but kept its value",
  NO_ANSWER: "the site did not answer",
  SITE_MADE_OTHER_VALUE: "the site stored a different value",
  SAVED_MEANWHILE: "was saved by another client in the meantime",
  CHANGED_MEANWHILE: "was changed here in the meantime",
  SECRET_STAYS_AT_SITE: "is a secret that Mooring does not have: the site keeps its value",
  PUT_RIGHT: "was changed on the site; corrected",
  LEFT_ALONE: "was corrected three times within ten minutes and changed again: no longer corrected",
  THERE_NOW: "on the site now",
  TAKEN_AND_LEFT: "{taken} adopted, {left} skipped",

  // Calls to a site
  CERTIFICATE_NOT_TRUSTED:
    "the certificate of {at} is not trusted ({reason}): give its certificate authority (ca) or its fingerprint (certificate_sha256)",
  NO_TLS: "{at} does not use TLS: write its address with http://",
  UNREACHABLE: "{at} cannot be reached: {reason}",
  CAUSE_REFUSED: "connection refused",
  CAUSE_NAME_UNKNOWN: "the host name is unknown",
  CAUSE_CLOSED: "the connection was closed",
  CAUSE_CLOSED_PLAIN:
    "the connection was closed; if the server uses TLS, write its address with https://",
  CAUSE_BROKEN: "the connection was reset",
  CAUSE_NO_ANSWER: "the host does not answer",
  NOT_HTTP: "the reply is not HTTP; if the server uses TLS, write its address with https://",
  SETTINGS_LIST_TOO_LONG:
    "{at} sent a list of {count} settings, and at most {most} of a site are read",
  NOT_A_SETTINGS_LIST: "{at} sent an invalid list of settings",
  SITE_IS_MOORING: "{at} is a Mooring server: give the address of its upstream",
  SITE_REFUSES_TOKEN: "{at} refused the token: {words}",
  SITE_FORBIDS: "{at} answered 403: {words}",
  SITE_NOT_ADMIN: "not an admin's",
  SITE_CODE: "code {code}",
  SITE_SILENT: "{at} gave no answer within {seconds} s: its storages may still be loading",
  SITE_LOADING: "{at} is loading: {words}",
  SITE_REDIRECTS: "{at} redirects to {location}: give that address, without the rest of its path",
  SITE_SPEAKS_TLS: "{at} uses TLS: write its address with https://",
  SITE_ANSWERS_PAGE:
    "{at} answered with a web page: check the path. The address of a site below a path includes it, such as https://host/files",
  SITE_ANSWERS_OTHERWISE: "{at} answered HTTP {status} with {type}, unlike OpenList or AList",
  SITE_JSON_INVALID: "{at} sent invalid JSON",
  SITE_ANSWER_TOO_LARGE: "{at} sent more than {most}, which is too large for a list of settings",
  FINGERPRINT_MISMATCH: "the certificate has the SHA-256 fingerprint {found}, not the expected one",
  SITE_TOKEN_UNKNOWN: "Mooring does not have its token yet",

  // Sites
  SITE_NAME_RESERVED: "must not be all or none, which are choices of sites",
  SITE_NAME_INVALID:
    "{field} must have 1 to 64 letters, digits, dots, underscores or hyphens, and begin with a letter or digit",
  SITE_URL_INVALID:
    "{field} must be an address such as http://HOST:PORT or https://HOST, with the path of the site if it has one",
  SITE_URL_WITH_USER: "{field} must not contain a user name or password",
  SITE_URL_WITH_QUERY: "{field} must not contain a query or fragment",
  SITE_TOKEN_MISSING: '{field} is missing: copy it from the site\'s settings, group "Other"',
  SITE_TOKEN_INVALID: "{field} must not contain spaces or characters that a header cannot carry",
  CERTIFICATE_TOO_LONG: "{field} is longer than 64 KiB",
  CERTIFICATE_INVALID: "{field} must be a certificate in PEM format",
  FINGERPRINT_INVALID:
    "{field} must be a SHA-256 fingerprint: 64 hexadecimal digits, with or without colons",
  TOO_MANY_PATTERNS: "{field} has more than {most} patterns",
  TOO_MANY_OVERRIDES: "{field} has more than {most} values",
  PATTERN_LENGTH: "{field} must have 1 to 255 characters",
  PATTERN_GROUP_INVALID: "{field} must give a group by its number, such as group:9",
  PATTERN_WITH_SPACE: "{field} must not contain white space or commas: give several patterns",
  OVERRIDE_OF_SITES_OWN: "{field} belongs to the site and is never pushed",
  OVERRIDE_UNKNOWN: "{field} is a key that neither Mooring nor the site has.{hint}",
  SETTING_IS_SITES_OWN: "{name} belongs to the site: it is neither adopted nor pushed",
  SETTING_UNKNOWN_TO_SITE: "neither Mooring nor the site has a setting {name}.{hint}",
  SITE_NOT_FOUND: "there is no site {name}.{hint}",
  SITE_EXISTS: 'the site "{name}" exists already',
  SITE_CHANGED:
    'the site "{name}" was changed and no longer has the expected etag {expected}: read it again',
  SITE_ADDRESS_TAKEN: 'the site "{name}" has this address already: {url}',
  TOO_MANY_SITES: "there are {most} sites already",

  // Bounds of settings
  REVISION_NOT_REACHED:
    "this instance is at revision {shown} and has not reached {asked}: retry in a moment, or at another instance",
  AT_LEAST_REVISION_INVALID:
    'mooring-at-least-revision must be a revision, such as 42, not "{text}"',
  TOO_MANY_KEYS: "give at most {most} keys, not {count}",
  TOO_MANY_CUSTOM_SETTINGS:
    "the limit of custom settings is {most}, and there would be {count}: delete some first, or raise MOORING_MAX_CUSTOM_SETTINGS; nothing was saved",
  SPACE_SHARE_EXHAUSTED:
    "settings and mounts would fill more than {percent} % of their space, which is the share of this token: shorten or delete some first, or ask an administrator; nothing was saved",
  SETTINGS_TOO_LARGE:
    "all settings together would take {count} bytes, and the limit is {most}: shorten or delete some first, or raise MOORING_MAX_SETTINGS; nothing was saved",
  PUBLIC_SETTINGS_TOO_LARGE:
    "all public settings together would take {count} bytes, and the limit is {most}: shorten some or make them private first, or raise MOORING_MAX_PUBLIC_SETTINGS; nothing was saved",
  LIMITS_TOO_LONG:
    "the limits of a token must have at most {most} characters in total: use fewer or shorter ones",
  SCOPES_REPEATED: "give each scope once: there are {count}",
  CHARACTER_INVALID:
    "must not contain invisible, bidirectional or unassigned characters; it has {character}",
  TEXT_NOT_NFC: "must be in the Unicode normalization form NFC",
  KEY_CONFUSABLE:
    "looks like the setting {key} but differs from it: write it in Latin letters, or use another key",
  OTHERS_WERE_SAVED: "{words}; the other settings were saved",

  // Reasons of changes by the program, in the history
  REASON_START: "start of the program",
  REASON_UPSTREAM_VALUES: "values of the upstream",
  REASON_STATE_FILE: "declared in the state file",
  REASON_SETTINGS_FILE: "declared in the settings file",
  REASON_MOUNT_FILE: "declared in the file of mounts",

  TAKEN_BACK: "refused by the upstream: its value was restored",

  // Incidents and webhooks
  DO_REPLACE_CREDENTIAL: "Get a new credential from the provider, and replace it in the mount.",
  DO_REPLACE_SHARE:
    "Ask the owner of the share for a new link and replace it in the mount, or remove the mount.",
  DO_SIGN_IN: "The provider requires a manual sign-in: sign in there, and confirm its request.",
  DO_WAIT: "Wait until the provider's limit ends, free space, or list the mount less often.",
  DO_CHECK_NETWORK:
    "The site cannot reach the provider: check the network, DNS and proxy of the site's host.",
  DO_COMPARE_CONFIGURATION:
    "A value of the mount is wrong: compare its paths and names with the provider's.",
  DO_READ_LOG: "Read the message and the log of the site, which has details.",
  DO_REPLACE_SITE_TOKEN:
    'Give Mooring a token that the site accepts: "mooring site set {site} --site-token-file PATH", or Edit in the console.',
  DO_ROTATE_TOKEN:
    'Create its successor and give it to the program that uses it: "mooring token rotate {id}". If it has ended, create a new one and revoke this one: "mooring token revoke {id}".',
  DO_CHECK_BACKUP:
    "Remove the cause that the message names, and make a backup: the incident closes with it.",
  DO_THEN: "{remedy} {next}",
  DO_SYNC_MOUNT:
    'To mount it again: "mooring mount sync {site} {name}", or Mount again in the console.',
  DO_BRING_RULES:
    'Bring the folder rule to the site: "mooring rule list --site {site}" shows why it is not there, "mooring rule sync {site}" writes the rules of Mooring. The mount follows it.',
  DO_TEST_LATER: 'Test it again when it is there: "mooring mount test {name}".',
  DO_ENABLE_THERE: "To mount it again, disable and enable it on the site.",
  DO_GIVE_ITEMS: "Give the mount these values.",
  DO_CHECK_SITE:
    'Make the site reachable, or correct its address or token: "mooring site check {site}" shows the cause.',
  DO_COMPLETE_RESTORE:
    'Run the same import or restore again, which completes it ("mooring backup restore"). To go on without it: "mooring site set {site} paused=false", or Resume in the console.',
  DO_RESUME_SITE: 'To read and write it again: "mooring site set {site} paused=false".',
  DO_SYNC_OR_ADOPT_SITE:
    'Write the values of Mooring to the site ("mooring site sync {site}"), or adopt those of the site ("mooring site adopt {site}").',
  DO_CHANGE_OR_ADOPT_SITE:
    'Change the values in Mooring, or adopt those of the site ("mooring site adopt {site}").',
  DO_LIST_MOUNTS: 'To list them with their causes: "mooring mount list --site {site}".',
  DO_LIST_RULES: 'To list them with their causes: "mooring rule list --site {site}".',
  DO_SYNC_OR_ADOPT:
    'Write the values of Mooring to the site ("mooring mount sync {site} {name}"), or adopt those of the site ("mooring mount adopt {site} {name}").',
  MOUNT_FAILS: "{mount} on {site} does not work",
  SITE_FAILS: "{site} cannot be reached",
  SITE_RESTORE_NOT_ENDED: "The restore of {site} has not ended",
  SITE_TOKEN_REFUSED: "{site} refuses the token of Mooring",
  SITE_TOKEN_ENDS: "The token of {site} expires",
  OWN_TOKEN_ENDS: "The token {name} expires",
  TOKEN_ENDS: "it expires at {time}, in {days} d or less",
  TOKEN_HAS_ENDED: "it expired at {time}",
  BACKUP_FAILS: "The backup to {name} failed",
  INCIDENT_RESOLVED: "Resolved: {title}",
  INCIDENT_LASTED: "It was open for {duration}: {problem}",
  INCIDENT_ACKNOWLEDGED: "Acknowledged: {title}",
  INCIDENT_CHANGED: "Changed: {title}",
  INCIDENTS_TOGETHER: "{site}: {count} incidents ({class})",
  INCIDENTS_RESOLVED: "{site}: {count} incidents are resolved ({class})",
  REMOVED_SITE: "removed site",
  NO_INCIDENTS: "There are no open incidents.",
  NO_MOUNTS_ON_SITES: "No site has a mount.",
  MOUNTS_FAIL: "Mounts that do not work ({count}): {names}.",
  MOUNTS_NOT_LISTED:
    "Mounts that were not listed at their providers since they were changed, so that it is unknown whether they work ({count} of {total}): {names}.",
  MOUNTS_LISTED:
    "Mounts that were listed at their providers: {count} of {total}, the first at {time}.",
  SITE_NOT_READ: "{site} is not read ({cause}); last time: {time}.",
  SITE_IS_PAUSED: "paused",
  SITE_IS_RESTORED:
    "paused by a restore that has not ended: something that belongs to the site is not there yet",
  SITE_NOT_YET_READ: "it has not been read yet",
  SITE_REFUSES_SETTINGS: "the site refused {keys}: {reason}",
  SITE_SETTINGS_FLAP:
    "another program changes {keys} on the site again and again; they are no longer corrected",
  SITE_SETTINGS_DIFFER: "values differ: {keys}",
  SITE_BEHIND: "revisions that are not on the site yet: {count}",
  COUNT_IN_STATE: "{count} {state}",
  LISTED: "{first}, {next}",
  STATE_OK: "ok",
  STATE_WAITING: "waiting",
  STATE_DIFFERS: "differs",
  STATE_DIFFER: "differ",
  STATE_FAILING: "failing",
  STATE_STUCK: "stuck",
  SITE_MOUNTS: "mounts: {states}",
  SITE_RULES: "folder rules: {states}",
  RULE_INCOMPLETE:
    "its password is lost, so it is not sent: without the password the folder would be open",
  RULE_PATH_TAKEN_THERE: "another rule of Mooring is at {path} on the site",
  RULE_UNMANAGED_THERE: "the site has a rule of its own for {path}, which is not overwritten",
  RULE_USERS_UNSUPPORTED:
    "the server has no lists of users, so the rule is not sent: it would not restrict the folder",
  RULE_USERS_UNREAD: "the users of the site can't be read, so the rule is not sent: {problem}",
  RULE_USERS_UNKNOWN: "the site has no user {users}, so the rule is not sent",
  RULE_FLAPPING:
    "another client changes it on the site after each correction; it is no longer corrected",
  RULE_NOT_KEPT: "the site has not kept {members}",
  RULE_NOT_ON_SITE: "the rule {path} is not on the site {site}",
  RULE_NOT_THERE: "the site has no rule for {path}",
  DO_GIVE_PASSWORD:
    'Give the password ("mooring rule set {name} password=@-"), or remove it ("password=").',
  DO_CREATE_USERS:
    'Create the users on the site, or change the lists of the rule for it ("mooring rule set {name} read_users@{site}=NAMES").',
  DO_OVERRIDE_USERS:
    'Give the rule no users on this site ("mooring rule set {name} read_users@{site}= write_users@{site}="), or leave the site out.',
  DO_SYNC_RULE: 'Then, or to try again now: "mooring rule sync {site} {name}".',
  DO_SYNC_OR_ADOPT_RULE:
    'Write the rule of Mooring to the site ("mooring rule sync {site} {name}"), or adopt that of the site ("mooring rule adopt {site} {name}").',
  NEVER: "never",
  PROBES_ARE_OFF:
    'Mooring lists none by itself (MOORING_PROBE_INTERVAL=0s): "mooring mount test --all" lists them now.',
  LIST_NOW: 'To list them now: "mooring mount test --all".',
  INCIDENT_NOT_FOUND: 'there is no incident "{id}"',
  INCIDENT_CLOSED: 'the incident "{id}" is closed',
  INCIDENT_DATE: 'date must be a day such as "2026-11-26", not "{value}"',
  INCIDENT_SUBJECT_UNKNOWN: "there is no subject {value}",
  SUBJECT_WITHOUT_DAYS: "only sites and mounts have days",
  NOTE_TOO_LONG: "note has more than {most} characters",
  WEBHOOK_NOT_FOUND: 'there is no webhook "{name}".{hint}',
  WEBHOOK_EXISTS: 'the webhook "{name}" exists already',
  WEBHOOK_CHANGED:
    'the webhook "{name}" was changed and no longer has the expected etag {expected}: read it again',
  WEBHOOK_BUSY: 'a message to the webhook "{name}" is being sent: wait for its result',
  WEBHOOK_DISABLED: 'the webhook "{name}" is disabled: enable it first',
  TOO_MANY_WEBHOOKS: "there are {most} webhooks already: delete one first",
  DELIVERY_NOT_FOUND: 'there is no delivery "{id}"',
  NAME_INVALID:
    "{field} must have 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or digit",
  TEXT_TOO_LONG: "{field} must have at most {most} characters",
  WEBHOOK_URL_INVALID: "{field} must be an address that begins with https:// or http://",
  NTFY_TOPIC_MISSING:
    "{field} must end with the topic: 1 to 64 letters, digits, _ and -, such as https://ntfy.sh/TOPIC",
  TELEGRAM_TOKEN_INVALID: "{field} must be the token of a bot, as BotFather gives it: 123456:ABC…",
  TELEGRAM_CHAT_INVALID: "{field} must be the number of a chat, or @ and the name of a channel",
  DISCORD_URL_INVALID:
    "{field} must be the address of a webhook: https://discord.com/api/webhooks/…/…",
  BARK_KEY_INVALID: "{field} must be the key of the device, which the Bark app shows",
  TEMPLATE_MISSING: "{field} is missing: give a Mustache template of the body",
  TEMPLATE_INVALID: "{field} is not a valid Mustache template: {reason}",
  TEMPLATE_TOO_DEEP: "{field} must have at most {most} sections inside each other",
  CONTENT_TYPE_INVALID: "{field} must be a media type such as application/json",
  TOO_MANY_HEADERS: "{field} must have at most {most} headers",
  HEADER_MASKED: "the header {name} has no stored value that could stay: give its value",
  HEADERS_INVALID:
    "{field} must have names and ASCII values of HTTP headers; those of the connection, Content-Type and webhook-… are not allowed",
  WEBHOOK_TEST_TITLE: "Test of the webhook {name}",
  WEBHOOK_TEST_TEXT: "Notifications of incidents arrive here.",
  WEBHOOK_URL_WITH_USER:
    "{field} must have no user name and no password: give a key in its path or query",
  WEBHOOK_SECRET_INVALID: "{field} must be whsec_ followed by base64, or empty to generate a key",
  WEBHOOK_SECRET_LENGTH:
    "{field} must hold {least} to {most} bytes in base64 after whsec_, or be empty to generate a key",
  VALUES_UNKNOWN: "{field} must be some of {names}",
  SITE_NAMES_INVALID: "{field} must be names of sites, at most {most}",
  VALUE_UNKNOWN: "{field} must be one of {names}",
  ADDRESS_NOT_PUBLIC: "{host} is not a public address: set MOORING_WEBHOOK_TARGETS=any to allow it",
  DELIVERY_REDIRECTED: "HTTP {status}: redirects are not followed, give the final address",
  DELIVERY_REFUSED: "HTTP {status}: {reason}",
  DELIVERY_TIMEOUT: "no reply within {seconds} s",
  DELIVERY_FAILED: "the request failed ({reason})",
  DELIVERY_BROKEN: "the request failed",
  DELIVERY_WEBHOOK_DISABLED: "the webhook was disabled",

  // Mounts
  FIELD_IMMUTABLE: "{field} cannot be changed: delete the mount and create another one",
  FIELD_REQUIRED: "{field} is missing",
  DRIVER_UNKNOWN: "{field}: there is no driver {name}.{hint}",
  SITES_REQUIRED:
    "{field} must be chosen, because there are several sites: name sites, or choose all",
  SITES_INVALID: "{field} must have either names, or all, or none",
  SITE_CHOICE_ALONE: "{field}: {name} cannot be combined: give all, none, or names of sites",
  SITE_UNKNOWN: "{field}: there is no site {name}.{hint}",
  MOUNT_TOO_LARGE: "{field} has more than {most} KiB together with the other values of the mount",
  ITEM_NOT_IN_FORM: "{field} is not a member of the form of a mount",
  ITEM_IS_MEMBER: "{field} is a member: give it in members",
  LENGTH_OUT_OF_RANGE: "{field} must have 1 to {most} characters",
  CONTROL_CHARACTERS: "{field} must not contain control characters",
  TOO_MANY_ENTRIES: "{field} has more than {most} entries: send several requests",
  MOUNT_REPEATED: "{field}: {name} occurs twice in this request",
  TOO_MANY_MOUNTS: "there would be {count} mounts, and the limit is {most}",
  CREDENTIAL_SHARED:
    "several sites would share {items}, which can be used once: the first site that refreshes it invalidates it for the others",
  CREDENTIAL_SHARED_HINT:
    "{name}: {problem}. Give each site its own credential by an override, or set allow_shared_credential",
  MOUNT_EXISTS: 'the mount "{name}" exists already',
  MOUNT_DELETED: 'the mount "{name}" was deleted: read it again',
  MOUNT_CHANGED:
    'the mount "{name}" was changed in revision {revision} and no longer has the expected etag {expected}: read it again',
  PATH_OF_ANOTHER: "{field} is already the path of {whose}{where}",
  MOUNT_NOT_FOUND: 'there is no mount "{name}".{hint}',
  MOUNT_NOT_ON_SITE: 'the mount "{name}" is not assigned to the site "{site}"',
  GIVE_AT_LEAST_ONE: "{field}: give at least one",
  GIVE_FROM_1: "{field}: give 1 to {most}",
  COPY_SHARES_CREDENTIAL:
    "{copy} and {name} would share {items}, which can be used once. Save the copy with its own credential, or set allow_shared_credential",
  NOT_A_ROW: "is not a mount: it has no {members}",
  ROW_NOT_OBJECT: "is not a mount: it is not an object",
  ROW_DISABLED_INVALID: "disabled must be true or false",
  ROW_SITES_UNKNOWN:
    "no site has the name {sites}: add the site, or choose the sites of the import",
  ADDITION_NOT_JSON:
    "its addition is not a JSON object: import an encrypted backup as a whole, with its passphrase",
  DRIVER_NOT_ON_SITE: "the site {site} ({kind}) has no driver {driver} and cannot mount it",
  ITEMS_NOT_ON_SITE: "the site {site} ({kind}) does not have {items}",
  PATH_OF_MOUNTS: "name: several mounts have this path: {names}. Give a name",
  NAME_WITH_OTHER_DRIVER: 'the mount "{name}" has another driver',
  REFRESHED_KEPT: "{items}: the current values are kept, because sites refresh them",
  PATH_WITH_OTHER_DRIVER: 'the mount "{name}" has this path and another driver',
  CONFIGURATION_NOT_JSON: "its configuration is not a JSON object",
  MOUNT_ON_NO_SITE: "it is on no site now",
  STAYS_ON_SITES: "it is only on {sites} now",
  ONLY_AT_SITE: "exists on the site only: adopt it, or delete it there",
  LEFT_OUT: "not kept: {names}",
  TAKEN_AS_IT_IS: "taken as it is: {problems}",
  NOTES: "{first}; {second}",
  SECRETS_STAY: "{items}: secrets are not in the history and are left unchanged",
  MOUNT_SECRETS_LOST:
    "{items}: the history keeps no secrets. The mount is incomplete, and no site gets it until they are given",
  MOUNT_SECRETS_NOT_IN_DOCUMENT:
    "{items}: the document has no secrets. The mount is incomplete, and no site gets it until they are given",
  MOUNT_WAITS_FOR_RULE:
    "it waits for the folder rule of {path}, which the site does not have yet: the folder would be open",
  MOUNT_INCOMPLETE: "incomplete: the values of {items} are lost. Give the mount these values",
  COPY_INCOMPLETE: "{name} is incomplete: give it {items} first",
  SECRET_REDIRECTED:
    "{field} is required again, because {by} decides where it is sent; a token with the scope mounts:reveal may keep it",
  ROLLBACK_REDIRECTS:
    "not restored, because {items} would be sent elsewhere: use a token with the scope mounts:reveal, or save the mount with these secrets",
  MOUNT_SECRETS_OF_SITE:
    "the site's mount connects to another address with secrets of its own, which are not sent there: give this mount {items}, or adopt the site's mount",
  MOUNT_PATH_TAKEN_THERE:
    "the site has another mount at {path}: delete it there, or choose another path",
  MOUNT_MOVED_THERE:
    "the site has no mount at {before}, but one at {path} with the same driver and number: sync it to create it again, or change its path here",
  MOUNT_DISABLED_SERVES:
    "the mount is stored as disabled but is still served: enable it, then disable it; do not delete it before",
  MOUNT_ENABLED_UNMOUNTED:
    "the mount is enabled and not mounted: store it as disabled by an update, then enable it",
  KEY_PREFIX_RESERVED: "must not begin with {prefix}, which is reserved for mounts",
  MOUNT_NOT_THERE: "the site has no mount of this driver at {path}",
  MOUNT_NOT_THERE_YET: "the site does not have the last change of the mount yet",
  LISTED_BUT_FAILING:
    "the listing works, but the server keeps the error of the last mount: {status}",
  MOUNT_IS_DISABLED_THERE: "not listed: the mount is disabled on the site",
  ACCOUNT_REFUSED:
    "not listed: another mount with this account was refused, and each further attempt may lock the account",
  TEST_TOO_LATE: "not listed: the time limit of the test was reached. Test fewer mounts",
  TOO_MANY_TESTS:
    "{count} mounts on sites would be listed, and the limit is {most}: give a site, or names",
  LISTINGS_BUSY: "too many mounts are being listed: test again in a few minutes",
  CALL_CREATE: "create",
  CALL_DISABLE: "disable",
  CALL_UPDATE: "update",
  CALL_ENABLE: "enable",
  CALL_DELETE: "delete",
  STEPS_FAILED: "{steps}: {error}",
  MOUNT_STARTING: "the site is mounting it",
  ONLY_MOUNTS_BELOW:
    "the site lists only other mounts below it, which it also does when this mount fails",
  MOUNT_FLAPPING:
    "changes repeatedly on the site: it is not corrected until it is pushed explicitly",
  NO_CREDENTIAL: "{name} has no value of {item} that could be replaced",
  ROLLBACK_PATH_TAKEN:
    "{name}: its path is already used by {whose}: restore both, or change the path of one",
  NAME_NOT_IN_HISTORY:
    'nothing has the name "{name}": give a name or key as the history shows it, or one of {words}',
  NAME_OF_SEVERAL: "{name} is ambiguous: give one of {names}",
  OTHERS_OUTSIDE_LIMITS: "records outside the limits of this token are unchanged",

  // Parts of other messages
  NOT_VALUE: ", not {value}",
  NAMED_PROBLEM: "{name}: {problem}",
  AT_FIELD: "{field} {problem}",
  IN_BACKUP: "{name} in this backup {problem}",

  // Backups, sealing, formats of values, and other messages
  HEALTH_SERVICE_UNKNOWN: 'unknown service "{name}"',
  MORE_PROBLEMS: "{problem}; {more}",
  MORE_LINES: "other wrong lines: {count}",
  ONE_MORE_LINE: "and 1 more line is wrong",
  THE_MOUNT: 'the mount "{name}"',
  ANOTHER_MOUNT: "another mount",
  ON_SITE: ' on the site "{site}"',
  NO_SEALING_KEY: "no sealing key is configured",
  NOT_AMONG_KEYS: "it is not among the configured keys ({count})",
  KEYLESS: "a setting without a key",
  NOT_ADMIN: "You are not an admin",
  VISITOR_UNKNOWN: "the upstream did not identify the user: {words}",
  KIND_ARRAY: "an array",
  KIND_OBJECT: "an object",
  KIND_TEXT: "text",
  KIND_NUMBER: "a number",
  KIND_EMPTY_TEXT: "empty text",
  KIND_BOOLEAN: "true or false",
  OBJECT_INVALID: "must be a JSON object, not {kind}",
  TEXT_MAP_INVALID: "must be a JSON object of text to text, not {kind}",
  TEXT_MAP_ENTRY_INVALID: "must be a JSON object of text to text, but {name} is {kind}",
  TEXT_MAP_EMPTY_NAME: "must not have a member with an empty name",
  ESCAPE_ADVICE: "in a user name or password write @ : / ? # as %40 %3A %2F %3F %23",
  COLOR_INVALID: "must be a CSS colour, such as #1890ff, teal or rgb(24 144 255)",
  CHARSET_INVALID: "must be the name of a character set, such as IBM437, GBK or Shift_JIS",
  HOST_INVALID: "must be an IP address or a host name, without http:// and without a port",
  LDAP_SERVER_INVALID: "must be a server such as ldap://host:389 or ldaps://host:636",
  LDAP_FILTER_INVALID:
    "must be an LDAP filter in parentheses with %s for the user's name, such as (uid=%s)",
  BUCKETS_INVALID: "must be a JSON array of buckets, not {kind}",
  BUCKET_INVALID:
    "must be a JSON array of objects with name and path, both text; number {number} is not",
  VALUES_INVALID: "must be an object of item names and values, not {kind}",
  OUTCOME_REFUSED: "refused: {problem}",
  OUTCOME_UNKNOWN: "unknown: {problem}",
  OUTCOME_REWRITTEN: "rewritten: {problem}",
  OUTCOME_OVERTAKEN: "overtaken: {problem}",
  MOUNT_OTHER_DRIVER:
    "the site has a mount of the driver {driver} at this path, and a driver cannot be changed: delete that mount there, or give this mount another path",
  MOUNT_UNREADABLE:
    "the configuration on the site is not a JSON object, or has more than 1,000 values: correct or delete the mount there",
  MOUNT_UNDER_WAY: "an operation on the mount is still in progress on the site: waiting for it",
  MOUNT_ID_TAKEN: "its id was assigned to another mount on the site in the meantime",
  MOUNT_NOT_LISTED: "the site reported that it created the mount, but does not list it",
  MOUNT_STILL_LISTED: "the site reported that it deleted the mount, but still lists it",
  STREAM_STOPPING: "the service is stopping; resume in a moment, or at another instance",
  BACKUP_ENCRYPTED_INVALID:
    '"encrypted" in this backup is not text: is it a backup of AList or OpenList?',
  BACKUP_PASSWORD_MISSING: "this backup is encrypted: give the password that it was written with",
  BACKUP_PASSWORD_WRONG: "wrong password: this backup was written with another one",
  BACKUP_VALUE_DAMAGED:
    "{path}.{name} in this backup cannot be decrypted, although the password is right: the file is damaged",
  BACKUP_TABLES_AMBIGUOUS: "{path} has the tables of several servers ({tables}): choose one",
  BACKUP_OWN_DATABASE: "{path} is a Mooring database: export it and import that file",
  BACKUP_TABLE_NOT_FOUND:
    "{path} has no table whose name ends in {suffix}: is it the database of an AList or OpenList server?",
  BACKUP_COLUMN_MISSING: "the table {table} has no column {columns}",
  BACKUP_NO_SUCH_TABLE: "this database has no table {table}",
  BACKUP_TABLE_TOO_LARGE:
    "the table {table} has {items} rows with {size} characters; at most {rows} rows and {bytes} characters are read",
  BACKUP_UNKNOWN:
    "unknown JSON format: expected an archive of Mooring, a backup of the AList or OpenList web page, or a list of settings or storages",
  BACKUP_ORIGIN_INVALID: '"created" and "databaseId" of this backup must be text',
  BACKUP_REVISION_INVALID: '"revision" of this backup must be a whole number',
  BACKUP_ENTRY_NAMELESS: '"{identifier}" is missing or empty',
  BACKUP_ENTRY_CLEAR_SECRETS:
    'has "secrets" in the clear, which an archive with sealed secrets must not have: they could have been added to it',
  BACKUP_ENTRY_SECRETS: '"secrets" must be an object with texts, numbers, true or false',
  BACKUP_ENTRY_NAMES: '"sealed" and "omitted" must be lists of names',
  BACKUP_MEMBER_INVALID: '"{name}" must be {form}',
  ENTRY_NOT_OBJECT: "is not an object",
  TEXT_NOT_QUOTED: "must be text in double quotes",
  FORM_SHORT_TEXT: "a text of at most {most} characters",
  FORM_CHOICE: "one of {options}",
  FORM_TEXTS: "a list of texts",
  FORM_TEXT_MAP: "an object with texts",
  FORM_TIME: "a time in ISO 8601",
  FORM_SCALAR: "a text, a number, true or false",
  FORM_TOKEN_ID: "12 letters and digits",
  FORM_LIST: "a list",
  BACKUP_SECRET_UNKNOWN: 'no mount has a secret "{name}"',
  BACKUP_TOO_MANY: "this backup has {count} {part}; the limit is {most}",
  DOCUMENT_EMPTY: "there is nothing to import: the lists of this backup are empty",
  BACKUP_WITHOUT_PARTS: "this backup has none of these parts: {parts}",
  ARCHIVE_PART_UNKNOWN: "an archive has no part {name}.{hint}",
  ENTRY_NOT_FOUND: "there is no entry {name}.{hint}",
  NAMES_NEED_ONE_PART: "{field} requires exactly one part in only",
  BACKUP_DAMAGED: "the backup is damaged: its entries are not those that were written",
  BACKUP_COUNTS_DIFFER: "the backup is damaged: entries of {part}: {found} in place of {count}",
  BACKUP_NOT_ARCHIVE: "the file is not a backup of this program",
  BACKUP_NOT_FOUND: "there is no backup {name}: mooring backup list shows them",
  BACKUP_TARGET_MISSING:
    "the service has no place for backups: set MOORING_BACKUP_DIR, or write one to a file with mooring backup create --output FILE",
  BACKUP_PASSPHRASE_MISSING:
    "a backup is sealed with a passphrase: set MOORING_BACKUP_PASSPHRASE_FILE of the service, or give one",
  BACKUP_BUSY: "another backup or restore is running: retry when it has ended",
  BACKUP_TARGET_FAILED: "{place} does not work as a place for backups: {reason}",
  BACKUP_CHECK_FAILED: "the check of the backup ended without a result: {reason}",
  BACKUP_NOT_RESTORABLE: "the new backup cannot be restored, and is not kept: {reason}",
  BACKUP_LATE: "no process has made the backup that was due at {time}",
  BACKUP_READ_BACK: "the file that was read back from {place} is not the one that was written",
  BACKUP_NAME_OR_DOCUMENT: "give either name or document",
  PART_OF_RESTORES: "an import does not write to servers: restore it with mooring backup restore",
  SERVERS_NEED_SERVICE:
    "only a running service reads and writes servers: call it without --database",
  SERVER_CONTENT_PLANNED:
    "created on the server where missing: users ({users}), folder rules ({rules}), shares ({shares})",
  SERVER_CONTENT_PAUSED: "the site is paused: resume it, then restore with --only servers",
  SERVER_CONTENT_SEALED: "it is sealed: the passphrase of the backup opens it",
  SERVER_CONTENT_INVALID: "its form is not that of a backup",
  SERVER_CONTENT_AWAY:
    "not restored on the server: {reason}; restore with --only servers when it answers",
  SERVER_RULES_SEALED:
    "it is sealed; the site is paused, because its mounts would be open without the folder rules in it: repeat the restore with the passphrase of the backup, or resume the site without them",
  SERVER_RULES_INVALID:
    "its form is not that of a backup; the site is paused, because its mounts would be open without the folder rules in it: resume the site when its server has them",
  SERVER_RULES_AWAY:
    "not restored on the server: {reason}; the site is paused, because its mounts would be open without its folder rules: restore with --only servers when it answers",
  IMPORTS_BUSY: "too many imports are waiting: retry in a few seconds",
  IMPORT_INCOMPLETE:
    "the import failed after {done} were stored, and before {left}: repeat it to complete it. The cause: {problem}",
  SITE_NOT_IN_BACKUP: "the backup has no site {name}{hint}",
  SITE_STANDS_FOR: "the site {name} is used instead",
  SITE_CREATED_AS: "imported as {name}",
  SITE_ADDRESS_TAKEN_IN_IMPORT:
    "the site {name} has its address; to use that site in its place, map the names: {old}={name}",
  SITE_WITHOUT_TOKEN:
    "it is paused: set its token, compare (site compare), and resume it (site set paused=false)",
  SITE_NOT_COMPARED:
    "it is observed: compare it (site compare), then adopt its values or sync Mooring's, and let it follow (site set mode=follow)",
  SITE_KEYS_EXCLUDED: "the site's own values of {keys} are unknown: these settings are excluded",
  SITE_HAS_NO_TOKEN: "the site has no token: set it (site set token)",
  WEBHOOK_WITHOUT_ADDRESS: "it is disabled, because the address is not known",
  TOKEN_OF_ANOTHER: "the token {id} belongs to another principal here",
  TOKEN_HASH_INVALID: "the hash of the token {id} is invalid",
  TOKENS_WITHOUT_HASH:
    "tokens without their hash are not accepted: rotate them (token rotate) to issue them again",
  BACKUP_SECRETS_INVALID: '"sealed" in this backup must be an object',
  BACKUP_SECRETS_INCOMPLETE:
    '"sealed" in this backup must have the texts cipher, kdf, salt, nonce and sealed, and the numbers n, r and p',
  BACKUP_VERSION_INVALID: '"version" of this backup must be a whole number from 1',
  BACKUP_VERSION_NEWER:
    "this backup has version {version} and was written by a newer Mooring; this one reads up to version {known}",
  SEALING_UNKNOWN: "the secrets are sealed with a method that this version does not support",
  SEALING_BUSY: "too many backups are sealed or opened at the moment: retry in a few seconds",
  SEALING_COST_REFUSED:
    "the sealed secrets require scrypt with n={n}, r={r}, p={p}: accepted are n from {least} to {most} (a power of two), r=8, p from 1 to {parallel}, and n times p of at most {most}",
  SEALING_INCOMPLETE: "the sealed secrets are incomplete: the salt, nonce or text is too short",
  PASSPHRASE_TOO_LONG: "the passphrase has more than {most} characters",
  PASSPHRASE_TOO_SHORT: "a passphrase must have at least {least} characters",
  PASSPHRASE_WRONG:
    "the sealed secrets cannot be opened: the passphrase is wrong, or the document was changed after it was written",
  BACKUP_ROW_TOO_WIDE: "{path} has {count} members; a row has at most {most}",
  BACKUP_NOT_JSON: "invalid JSON: line {line}, column {column}: {reason}",
  BACKUP_TOO_LARGE: "this backup has {bytes} bytes; the limit is {most} ({mebibytes} MiB)",
  BACKUP_NOT_ARRAY: '"{name}" in this backup must be an array',
  TOKEN_STATE_UNKNOWN: "the state of this token cannot be determined at the moment: {reason}",
  OLD_TOKEN_MAY_HOLD: "it was saved, but another instance may still accept the old token: {reason}",
  STORE_UNREADABLE: "the {what} cannot be read: {reason}",
  CALL_UNSURE:
    "it is unknown whether this call had an effect; read the state before you retry: {reason}",
  CALL_WITHOUT_DATABASE: "the call failed: {reason}",
  SAVE_UNSURE: "it is unknown whether this was saved; read it before you retry: {reason}",
  SAVE_FAILED: "nothing was saved: {reason}",
  WEBHOOK_MISSING: '"webhook" is missing',
  CONTENT_INVALID: "mounts[{at}].content must be MOUNT_CONTENT_ADOPT or MOUNT_CONTENT_OVERWRITE",
  SETTING_KEY_MISSING:
    'the setting "{key}" is sealed with the key {id}, and {have}: add that key to MOORING_SECRET_KEY (after the current key), or restore the setting from a backup',
  SETTING_DOES_NOT_OPEN:
    'the sealed value of the setting "{key}" cannot be opened: it was changed in the database or copied from another setting; restore it from a backup or set it again',
  SEALING_KEY_TOO_SHORT:
    'sealing key number {number} is too short: give 32 random bytes in hexadecimal or base64 ("openssl rand -hex 32" generates them), or at least {least} characters of text',
  OPTIONS_NOT_EMPTY: "must be empty for a {type}",
  OPTIONS_EMPTY: "must list the choices, separated by commas",
  WHOLE_NUMBER_RANGE: "must be a whole number from {min} to {max}",
  TYPE_INVALID: "must be string, text, number, bool or select",
  EMPTY: "must not be empty",
  KEY_TOO_LONG: "must not have more than {most} characters",
  LINE_BREAK: "must not contain line breaks or other control characters",
  WHITE_SPACE_AROUND: "must not have leading or trailing white space",
  REASON_TOO_LONG: "the reason has {length} characters; the limit is {most}",
  CHANGES_FORGOTTEN:
    "the changes after revision {after} have been deleted; the oldest revision is {oldest}: read everything again, then watch from there",
  REVISION_NOT_YET: "revision {start} does not exist yet; the newest is {head}",
  WATCHER_TOO_SLOW:
    "this client was disconnected because it was more than {kibibytes} KiB behind: resume after revision {after}",
  DATABASE_REPLACED: "the database was replaced by another or an older one: read everything again",
  TOO_MANY_LINES: "has {count} lines; the limit is {most}",
  EXPRESSION_BRACKET_OPEN: "has a [ without its ]",
  EXPRESSION_SUBTRACTIONS_TOO_DEEP: "has more than {most} subtractions in one another",
  EXPRESSION_SUBTRACTION_NOT_LAST:
    "has a subtraction -[…] that is not the last part of its brackets",
  EXPRESSION_RANGE_WITH_CLASS: "has a range in brackets that ends with a class",
  EXPRESSION_RANGE_BACKWARDS: "has a range in brackets that runs backwards, such as [z-a]",
  EXPRESSION_ESCAPE_BEYOND: "has an escape {form} beyond the last character",
  EXPRESSION_ESCAPE_UNKNOWN: "has an unknown escape \\{letter}",
  EXPRESSION_UNICODE_CLASS_UNKNOWN: "has a Unicode class \\p with an unknown name",
  EXPRESSION_GROUP_NAME_MISSING: "refers to a group by a name that it does not have",
  EXPRESSION_GROUP_NUMBER_MISSING: "refers to the group {group}, which it does not have",
  EXPRESSION_GROUP_OPEN: "has a ( without its )",
  EXPRESSION_COMMENT_OPEN: "has a comment (?# without its )",
  EXPRESSION_GROUPS_TOO_DEEP: "has more than {most} groups in one another",
  EXPRESSION_CONDITION_NAMED: "has a condition that is a named group",
  EXPRESSION_GROUP_ZERO: "has a group with the number 0",
  EXPRESSION_CONDITION_COMMENT: "has a condition that is a comment",
  EXPRESSION_CONDITION_OPEN: "has a condition (?(1) without its )",
  EXPRESSION_GROUP_KIND_UNKNOWN: "has a group (?… of an unknown kind",
  EXPRESSION_GROUP_CLOSED: "has a ) without its (",
  EXPRESSION_CONDITION_ALTERNATIVES: "has a condition with more than two alternatives",
  EXPRESSION_REPETITION_OF_NOTHING: "has a repetition with nothing before it to repeat",
  EXPRESSION_REPETITION_ORDER: "has a repetition {form} whose second number is the smaller one",
  EXPRESSION_BACKSLASH_LAST: "ends with a single \\",
  EXPRESSION_NUMBER_TOO_LARGE: "has a number that is too large",
  EXPRESSION_LOOK_AROUND:
    "looks ahead or behind with (?= (?! (?<= or (?<!, which RE2 does not have",
  EXPRESSION_GROUP_NAME_RE2: "has a group whose name is not made of letters A to Z, digits and _",
  EXPRESSION_GROUP_NOT_RE2: "has a group (?… that RE2 does not have",
  EXPRESSION_REPETITION_TWICE: "has two repetitions one after the other, such as a** or a++",
  EXPRESSION_REPETITION_COPIES: "repeats repetitions, {copies} copies in all; {most} are possible",
  EXPRESSION_REPETITION_TOO_LONG: "repeats more than {most} times",
  EXPRESSION_REFERENCE_BACK: "refers back with \\{name}, which RE2 does not have",
  EXPRESSION_ESCAPE_NOT_RE2: "has an escape \\{name} that RE2 does not have",
  EXPRESSION_POSIX_CLASS_UNKNOWN: "has an unknown class [:…:] in brackets",
  EXPRESSION_GROUP_NAME_INVALID: "has a group whose name is not made of letters, digits and _",
  EXPRESSION_REFERENCE_INVALID: "has a reference \\k that is not \\k<name>",
  EXPRESSION_END: "ends too early",
  LINE_PROBLEM: "line {line} {problem}",
  LINE_TOO_LONG: "has {count} characters; the limit is {most}",
  TOO_DEEP: "must not be nested deeper than {most} levels",
  PREVIEWS_INVALID: "must be a JSON object of file extensions to viewers, not {kind}",
  ENTRY_PROBLEM: "the entry for {name} {problem}",
  EXTENSIONS_MISSING: "must name file extensions, such as pdf or doc,docx",
  VIEWERS_INVALID: "must be an object of viewer name to address, not {kind}",
  VIEWER_INVALID: "must give the address of {name} as text, not {kind}",
  LINK_INVALID: "must be an address such as {scheme}://host:port/path; {advice}",
  IMAGE_LINK_INVALID:
    "must be an http or https address, a path or a data: URL, without spaces or line breaks",
  TOO_MANY_ITEMS: "has {count} items; the limit is {most}",
  LIST_ITEM_PROBLEM: "must be a list separated by commas, but item {item} {problem}",
  LIST_ITEM_EMPTY: "is empty: remove the extra comma",
  ITEM_WHITE_SPACE: "has leading or trailing white space: {value}",
  ITEM_LINE_BREAK: "has a line break or control character: {value}",
  PATH_EMPTY: "is empty and would match every path: remove it",
  PATH_WITHOUT_SLASH: "must begin with a slash: {value}",
  TOO_MANY_PORTS: "has {count} entries; the limit is {most}",
  PORT_ENTRY_PROBLEM: "entry {entry}, {value}, {problem}",
  PORT_ENTRY_INVALID: "must be {form}",
  PORT_COUNTS_DIFFER:
    "exposes {one} ports and listens on {other}: both sides must have the same number",
  REGEX_FORM: "must be a regular expression between slashes, followed by flags, such as /\\.tmp$/i",
  REGEX_FLAGS:
    "has invalid flags after the last slash: use d, g, i, m, s, u and y, each at most once",
  REGEX_INVALID: "must be a regular expression: {reason}",
  SURROGATE: "must be valid Unicode text; it has an unpaired surrogate",
  VALUE_MISSING: "{name} has no value; send empty text to clear it",
  READONLY_SET: "is read-only: the program sets it; omit it or send it unchanged",
  READONLY_SENT: "{name}: is read-only; omit it or send it unchanged",
  SAVED_ALL_THE_TIME:
    "nothing was changed: other clients keep saving the same settings. Read again and retry",
  SEALING_KEY_MISSING:
    'the secrets of this database are sealed, and this process has no key to seal "{key}": start it with the MOORING_SECRET_KEY of the other processes; nothing was saved',
  CERTIFICATE_UNKNOWN:
    "its certificate is not trusted ({code}); set NODE_EXTRA_CA_CERTS to your certificate authority",
  UPSTREAM_NO_TLS: "it does not use TLS: write its address with http://",
  UPSTREAM_NOT_CONNECTED:
    "it answered Mooring and was saved, but the upstream could not connect to it: {words}",
  BEFORE_INVALID: "before must be a sequence number, or 0",
  SITE_MISSING: '"site" is missing',
  MODE_INVALID: "mode must be SITE_MODE_OBSERVE or SITE_MODE_FOLLOW, not {mode}",
  SITE_CANNOT_FOLLOW:
    'the site "{name}" cannot follow yet, because its values were not adopted and Mooring\'s values were not written to it. Compare it first ("mooring site compare {name}"), then adopt its values or sync Mooring\'s',
  MOUNT_LIST_TOO_LONG: "the list has {count} mounts, and at most {most} of a site are read",
  MOUNT_LIST_INVALID: "the list of mounts has invalid rows",
  MOUNT_ANSWER_INVALID: "the site answered with a mount other than number {id}",
  SITE_GONE: "the site was deleted",
  LIST_TOO_LONG: "the list {list} has {count} entries, and at most {most} are read",
  LIST_TOO_LARGE: "the list {list} has more than {most}",
  LIST_INVALID: "the list {list} has invalid entries",

  // Users of servers
  USERS_OF_ONE_SITE: "from and to are the same site",
  USER_NOT_ON_SITE: "{site} has no user {names}",
  TOO_MANY_USERS:
    "{count} users would be written, and a call writes at most {most}: name some of them",
  USER_PASSWORD_MISSING:
    "the new users need a password: {names}. Give one, or let random ones be generated",
  USER_CREATED: "created",
  USER_REPLACED: "replaced",
  USER_PASSWORD_UNUSED:
    "no user {name} would be created, and passwords of existing users never change",
  USER_PASSWORD_INVALID:
    "a password has 1 to {most} characters without control characters, and no space at its ends",
  USER_PASSWORDS_AMBIGUOUS: "give one password for all or random ones, not both",
  USER_BUILT_IN: "every server has its own admin and guest: they are never created or changed",
  USER_BUILT_IN_THERE:
    "{name} is the admin or guest of one of the two servers and another user on the other one",
  USER_EXISTS:
    "it exists with other members, and existing users are only changed when named for an update",
  USER_CHANGED_MEANWHILE: "the user {name} was changed or deleted meanwhile",
  USER_SECRETS_LOST:
    "its password, two-factor secret and passkeys: servers do not return them, so it has the new password alone",
  USER_PASSKEYS_LOST:
    "its passkeys there, and its logins there end; password and two-factor secret stay",
  USER_PERMISSIONS_LOST:
    "the permissions {permissions}, which the other kind of server does not have",
  USER_ROLES_LOST: "the roles {roles}, which it cannot get there",
  USER_ROLES_DIFFER: "the rights of the roles {roles}, which are defined otherwise there",
  USER_LDAP_LOST: "the refusal of logins by LDAP, which the other kind of server does not have",
  USER_PATH_LIMIT_FAMILY:
    "its roles limit it to some paths, and the other kind of server has no such limit: it would see everything below its folder",
  USER_PATH_LIMIT_ROLES:
    "its roles limit it to some paths, and the roles {roles} are missing or different there: it would see other paths",
  USER_FOLDER_MISSING: "the folder {path} does not exist there",
  USER_FOLDER_UNCHECKED: "whether the folder {path} exists there is unknown",
  USER_LEFT_DISABLED:
    "it was created and stays disabled, because the refusal of logins by LDAP was not stored: {reason}",
  USER_CACHE_KEPT:
    "it was changed, but the server may use the former account for up to an hour, because the second call that clears its cache has failed ({reason}): save the user there, or restart the server",
  USER_MAY_BE_CHANGED:
    "the server may have stored the update and may use the former account for up to an hour: save the user there, or restart the server",
  USER_MAY_EXIST: "whether it was created is unknown: {reason}",
  USER_COPY_ENDED: "not sent: the call has ended",
  RULE_HIDES_ALL:
    "hide has an empty line, which hides every name from users without the right to see hidden files: remove it, if that is not meant",
  RULE_CACHE_KEPT:
    "it was created, but the server may answer as without it, because the second call that clears its cache has failed ({reason}): save the rule there, or restart the server",
  RULE_IS_MANAGED: "it is managed here: the site gets it when it follows",
  RULE_USERS_MISSING:
    "it names the users {names}, who do not exist there: without them the rule would admit others",
  RULE_USERS_UNKNOWN_FAMILY:
    "it names users, which the other kind of server does not support: without them the rule would admit others",
  SHARES_UNKNOWN_FAMILY: "the other kind of server has no shares",
  SHARE_CREATOR_MISSING: 'its creator "{creator}" does not exist there',
  USER_COPY_STOPPED: "not sent after the failure of another user: {reason}",
  ADDRESS_PROBLEM: "{field} {description}, such as {example}",

  // Requests that cannot be read: reasons of the gateway (src/transport/body.ts)
  PATH_INVALID: "Invalid path: {problem}",
  QUERY_INVALID: "Invalid query: {problem}",
  HEADER_INVALID: "Invalid header: {problem}",
  BODY_INVALID: "Invalid body: {problem}",
  BODY_TOO_LARGE: "Body too large: {problem}",
  BODY_TOO_LATE: "Body too late: {problem}",
  TOO_MANY_BODIES: "Too many requests at once: {problem}",
  PATH_NOT_FOUND: "Unknown path: {problem}",
  METHOD_NOT_ALLOWED: "Method not allowed: {problem}",
  MEDIA_TYPE_UNSUPPORTED: "Unsupported body: {problem}",

  // Messages without an id of their own, by canonical code
  CODE_CANCELED: "Canceled: {message}",
  CODE_UNKNOWN: "Unknown error: {message}",
  CODE_INVALID_ARGUMENT: "Invalid request: {message}",
  CODE_DEADLINE_EXCEEDED: "Deadline exceeded: {message}",
  CODE_NOT_FOUND: "Not found: {message}",
  CODE_ALREADY_EXISTS: "Already exists: {message}",
  CODE_PERMISSION_DENIED: "Permission denied: {message}",
  CODE_RESOURCE_EXHAUSTED: "Limit exceeded: {message}",
  CODE_FAILED_PRECONDITION: "Not possible in this state: {message}",
  CODE_ABORTED: "Aborted, nothing was changed: {message}",
  CODE_OUT_OF_RANGE: "Out of range: {message}",
  CODE_UNIMPLEMENTED: "Not implemented: {message}",
  CODE_INTERNAL: "Internal error. The log of the service has details.",
  CODE_UNAVAILABLE: "Temporarily unavailable: {message}",
  CODE_DATA_LOSS: "Data loss: {message}",
  CODE_UNAUTHENTICATED: "Not signed in: {message}",

  // Download managers
  DOWNLOADER_FAILED: "{program} at {address}: {what}. {advice}",
  STEP_FAILED: "{step} failed: {meaning} ({code})",
  STEP_DNS: "DNS lookup",
  STEP_CONNECT: "connect",
  STEP_TLS: "TLS",
  STEP_REPLY: "reply",
  STEP_TIME_OUT: "time-out: {seconds} s expired while {doing}",
  STEP_CANCELLED: "cancelled while {doing}",
  DOING_DNS: "looking up the host name",
  DOING_CONNECT: "connecting",
  DOING_TLS: "agreeing on TLS",
  DOING_REPLY: "waiting for the reply",
  MEANS_NAME_UNKNOWN: "this host name is unknown",
  MEANS_NAME_SERVER_SILENT: "the name server does not answer",
  MEANS_NOTHING_LISTENS: "connection refused, nothing listens there",
  MEANS_NO_ROUTE_TO_HOST: "there is no route to this host",
  MEANS_NO_ROUTE_TO_NETWORK: "there is no route to this network",
  MEANS_HOST_SILENT: "the host does not answer",
  MEANS_CONNECTION_CLOSED: "the connection was closed",
  MEANS_CONNECTION_CLOSED_PLAIN:
    "the connection was closed; if the program uses TLS, write its address with {scheme}://",
  MEANS_CERTIFICATE_SELF_SIGNED: "the certificate is self-signed",
  MEANS_AUTHORITY_NOT_TRUSTED: "the certificate's authority is not trusted",
  MEANS_CERTIFICATE_EXPIRED: "the certificate has expired",
  MEANS_CERTIFICATE_EARLY: "the certificate is not valid yet",
  MEANS_CERTIFICATE_OF_ANOTHER: "the certificate is for another host name",
  MEANS_PORT_WITHOUT_TLS: "this port does not use TLS",
  MEANS_REPLY_UPGRADES: "the reply changes to another protocol",
  MEANS_REPLY_HEADERS_TOO_LONG: "the reply's headers are too long",
  MEANS_REPLY_TOO_LONG: "the reply is too long",
  MEANS_REPLY_NOT_UNDERSTOOD: "not understood",
  MEANS_NO_SUCCESS: "no success",
  REPLY_NOT_READ: "the reply is longer than {most} bytes and was not read further",
  STATUS_UNEXPECTED: "HTTP status {status}",
  STATUS_REDIRECT: "HTTP status {status}: redirected to {place}",
  ANOTHER_ADDRESS: "another address",
  ADVICE_REDIRECT: "Redirects are not followed: give that address.",
  ADVICE_AGAIN: "Try again.",
  ADVICE_NAME: "Check the spelling; a container resolves only host names of its own network.",
  ADVICE_TLS:
    "Check the scheme (without TLS it is http or ws); for a certificate that is not publicly trusted, name a file with its authority in NODE_EXTRA_CA_CERTS.",
  ADVICE_REPLY: "{recognizable} Check also whether this port expects TLS (https or wss).",
  ARIA2_REACHABLE:
    "Check that aria2 runs with --enable-rpc and listens on this port (--rpc-listen-port); for other machines and containers it needs --rpc-listen-all as well. In a container, localhost means the container itself.",
  ARIA2_RECOGNIZABLE:
    "Check that this port (--rpc-listen-port) and path (usually /jsonrpc) are those of aria2's JSON-RPC.",
  ARIA2_NO_VERSION: "the JSON-RPC reply has no version",
  ARIA2_SECRET_WRONG: "wrong secret",
  ARIA2_GIVE_SECRET: "Give the value of aria2's --rpc-secret, or an empty one if it has none.",
  ARIA2_ERROR: "JSON-RPC error {code} instead of a version",
  ARIA2_USER_REFUSED: "user name or password refused (HTTP status 401)",
  ARIA2_GIVE_USER:
    "aria2 with --rpc-user, or a proxy in front of it, requires a user name and password in the address (http://user:password@host:port/jsonrpc).",
  ARIA2_NOT_JSON_RPC: "the reply is not JSON-RPC 2.0",
  ARIA2_SECRET_TOO_LONG: "{field} is longer than {most} characters",
  QBITTORRENT_REACHABLE:
    "Check that qBittorrent runs with its Web UI enabled and listens on this address and port. In a container, localhost means the container itself.",
  QBITTORRENT_RECOGNIZABLE:
    "Check that this is the address of qBittorrent's Web UI, version 4.1 or later.",
  QBITTORRENT_NOT_API: "the reply is not one of qBittorrent's Web API",
  QBITTORRENT_GIVE_LOGIN:
    "It may also have banned this server after failed logins. Write the user name and password into the address: http://user:password@host:port/.",
  QBITTORRENT_LOGIN_NEEDED:
    "login refused: it requires a user name and password, and the address has none",
  QBITTORRENT_CHECK_LOGIN:
    "Check both, percent-encoded in the address; after several failed logins qBittorrent bans this server for a while (see its Web UI options).",
  QBITTORRENT_LOGIN_REFUSED: "login refused: wrong user name or password",
  QBITTORRENT_WAIT:
    "Wait until the ban is over or restart qBittorrent; its Web UI options have the number of consecutive failures and the length of the ban.",
  QBITTORRENT_BANNED: "banned after too many failed logins (HTTP status 403)",
  QBITTORRENT_CHECK_OPTIONS:
    "Check qBittorrent's Web UI options: the server domains of its Host header validation must cover this host and port, and a reverse proxy must be allowed (or require no user name and password of its own).",
  QBITTORRENT_CHECK_REFUSED: "refused by the Host header or CSRF check (HTTP status 401)",
  QBITTORRENT_FORWARD_COOKIE:
    "A proxy in front of it must forward its session cookie in both directions.",
  QBITTORRENT_SESSION_LOST:
    "the login succeeded, but its session was not accepted (HTTP status 403)",
  DOWNLOADER_ADDRESS_SCHEME: "must be an address that begins with one of {schemes}",
  DOWNLOADER_ADDRESS_SPLIT:
    "has an @ after its host: in a user name or password write / as %2F, ? as %3F, # as %23 and @ as %40, in a path write @ as %40",
  DOWNLOADER_ADDRESS_PERCENT: "has a % in its user name or password that must be written %25",
} as const;

export type MessageId = keyof typeof MESSAGES;
