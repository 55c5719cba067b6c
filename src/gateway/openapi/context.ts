import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import type { Method } from "../method.ts";
import type { BesideRule } from "../rest/rule.ts";
import type { Components } from "./components.ts";
import type { HeaderNotes } from "./header.ts";
import type { Comments, Schemas } from "./schema.ts";

/** Context of responses. */
export interface ResponseContext {
  readonly components: Components;
  /** The schemas of a method's messages, in the form of its JSON. */
  readonly schemasOf: (method: Method) => Schemas;
  /** HTTP status of replies in the envelope; see GatewayOptions. */
  readonly httpStatus: "envelope" | "code";
  /** Headers that parts of the application read and write. */
  readonly headers: HeaderNotes;
}

/** A call of an rpc that shows how it is used. */
export interface Example {
  /** Query parameters. */
  readonly query?: Readonly<Record<string, string>>;
  /** Path variables. */
  readonly path?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
}

/** Context of operations. */
export interface OperationContext extends ResponseContext {
  readonly comments: Comments;
  /** By the rpc's full name. */
  readonly examples: Readonly<Record<string, Example>>;
  readonly rules?: readonly BesideRule[] | undefined;
  /** Reports whether an rpc may be called without a token. */
  readonly isPublic: (method: DescMethod) => boolean;
  /** Whether query parameters fill maps; see ReadingOptions. */
  readonly mapParameters?: boolean | undefined;
}
