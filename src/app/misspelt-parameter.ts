import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { isRead } from "../gateway/method.ts";
import { nearest } from "../suggestion.ts";

/** Fields that restrict what a call does: without them it would do more than its client asked. */
const RESTRICTING = ["dry_run", "expected_etag", "mask_secrets", "only"];

/** Parameters of one path that choose its rpc: the one that is not used is no error. */
const ALTERNATIVES = ["key", "keys"];

/** Shortest name that is compared: pages add short ones of their own, such as `_` or `t`. */
const SHORTEST = 3;

/**
 * Refuses a query parameter, or a member of a body that is read as a query, that a call would ignore
 * although its client means a field of it: a misspelt name, a field of the body, or a restriction that
 * the call does not have. Other unknown parameters are ignored, as legacy clients expect.
 *
 * @returns the problem; undefined: the parameter is ignored.
 */
export function misspeltParameter(parameter: {
  readonly name: string;
  readonly method: DescMethod;
  readonly isWrite: boolean;
  /** The parameter names a field that is set from path or body instead. */
  readonly isTaken: boolean;
}): string | undefined {
  const { name, method, isWrite, isTaken } = parameter;
  if (isTaken) return isWrite ? "this field is a member of the body" : undefined;
  const field = nearestField(name, method.input);
  const isAlternative = ALTERNATIVES.includes(name) && ALTERNATIVES.includes(field ?? "");
  if (field !== undefined && !isAlternative) return `no such parameter; did you mean ${field}?`;
  const isLong = letters(name).length >= SHORTEST;
  const [restriction] = isWrite && isLong ? nearest(name, RESTRICTING) : [];
  return restriction === undefined ? undefined : `${method.name} has no ${restriction}`;
}

/** Message whose unknown members are ignored: lists of other servers are saved as they are. */
const TOLERANT_MESSAGE = "mooring.v1.SettingInput";

/** Decides about a member of a JSON body that its message does not have. */
type MemberRule = (member: {
  readonly name: string;
  readonly message: DescMessage;
}) => string | undefined;

/**
 * Refuses members of JSON bodies that a call would ignore: every unknown one of a call that writes,
 * and a misspelt one of a read. What a read returns can be sent back: an input such as `MountInput`
 * takes the members of `Mount`, and ignores those that it does not have itself. Settings are saved with
 * the members of other servers.
 */
export function createMemberRule(services: readonly DescService[]): MemberRule {
  const methods = services.flatMap((service) => service.methods);
  const written = messagesOf(methods.filter((method) => !isRead(method)).map((one) => one.input));
  const returned = messagesOf(methods.map(({ output }) => output));
  const byName = new Map([...returned].map((message) => [message.typeName, message]));
  const isReturned = (name: string, { typeName }: DescMessage): boolean => {
    const output = byName.get(typeName.replace(/Input$/, ""));
    return output?.fields.some((field) => letters(field.name) === letters(name)) ?? false;
  };
  return ({ name, message }) => {
    if (isReturned(name, message)) return undefined;
    const field = nearestField(name, message);
    if (field !== undefined) return `no such member; did you mean ${field}?`;
    if (!written.has(message) || message.typeName === TOLERANT_MESSAGE) return undefined;
    // A mount: its items are those of a driver, which are often given beside its own members.
    const names = message.fields.map((one) => one.name);
    return names.includes("config") && names.includes("members")
      ? "no such member: items of the driver belong to config, and others such as order to members"
      : "no such member";
  };
}

/** Messages, and those that their fields have. */
function messagesOf(messages: readonly DescMessage[]): ReadonlySet<DescMessage> {
  const found = new Set<DescMessage>();
  const add = (message: DescMessage | undefined): void => {
    if (message === undefined || found.has(message)) return;
    found.add(message);
    for (const field of message.fields) add(field.message);
  };
  messages.forEach(add);
  return found;
}

function nearestField(name: string, { fields }: DescMessage): string | undefined {
  if (letters(name).length < SHORTEST) return undefined;
  return nearest(
    name,
    fields.map((field) => field.name),
  ).find((field) => letters(field).length >= SHORTEST);
}

/** Letters and digits of a name, in lower case: the same for `mountPath` and `mount_path`. */
function letters(name: string): string {
  return name.replace(/[^a-z0-9]/giu, "").toLowerCase();
}
