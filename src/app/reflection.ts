import {
  create,
  createRegistry,
  type DescFile,
  type Registry,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import {
  ErrorResponseSchema,
  ExtensionNumberResponseSchema,
  FileDescriptorResponseSchema,
  ListServiceResponseSchema,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { toConnectError } from "../gateway/application-error.ts";
import { encodeOnce } from "../gateway/encoded.ts";
import type { Method } from "../gateway/method.ts";

/** Contract that reflection describes. */
interface Contract {
  readonly registry: Registry;
  /** By path, such as `mooring/v1/setting.proto`. */
  readonly fileNamed: ReadonlyMap<string, DescFile>;
  readonly services: readonly string[];
}

type Answer = ServerReflectionResponse["messageResponse"];
export type AnswerReflection = (request: ServerReflectionRequest) => ServerReflectionResponse;

/**
 * Encodes each answer before the server of a library does: after a failed encoding, these servers
 * hang or quote the value.
 *
 * @param report receives the failure with its cause.
 * @returns answers as `answer` does, and throws INTERNAL for one without a valid encoding.
 */
export function encodedReflection(
  answer: AnswerReflection,
  report: (error: ConnectError) => void,
): AnswerReflection {
  return (request) => {
    try {
      const response = answer(request);
      encodeOnce(ServerReflectionResponseSchema, response, "proto");
      return response;
    } catch (thrown) {
      const error = toConnectError(thrown);
      report(error);
      throw error;
    }
  };
}

/**
 * Answers questions about the contract (gRPC server reflection protocol, v1). The descriptors are
 * the generated ones, so that clients see the options as well; it needs no token, because the
 * contract is no secret.
 */
export function createReflection(methods: readonly Method[]): AnswerReflection {
  const services = new Set(methods.map((method) => method.desc.parent));
  const files = new Set<DescFile>();
  for (const service of services) collect(service.file, files);
  const registry = createRegistry(...files);
  const fileNamed = new Map([...files].map((file) => [`${file.name}.proto`, file]));
  const names = [...services].map((service) => service.typeName);
  const contract = { registry, fileNamed, services: names };
  // A repeated request gets the same message, whose bytes are cached.
  const kept = new Map<string, ServerReflectionResponse>();
  return (request) => {
    const question = toJsonString(ServerReflectionRequestSchema, request);
    const known = kept.get(question);
    if (known !== undefined) return known;
    const response = create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: answer(request.messageRequest, contract),
    });
    const found = response.messageResponse.case !== "errorResponse";
    if (found && question.length < MAX_QUESTION && kept.size < MAX_KEPT)
      kept.set(question, response);
    return response;
  };
}

/** Answers that are kept: clients ask for the same few files. */
const MAX_KEPT = 256;
/** Longest request whose answer is cached, in characters. */
const MAX_QUESTION = 256;

function collect(file: DescFile, files: Set<DescFile>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const dependency of file.dependencies) collect(dependency, files);
}

function answer(
  question: ServerReflectionRequest["messageRequest"],
  { registry, fileNamed, services }: Contract,
): Answer {
  switch (question.case) {
    case "listServices": {
      const value = create(ListServiceResponseSchema, {
        service: services.map((name) => ({ name })),
      });
      return { case: "listServicesResponse", value };
    }
    case "fileByFilename":
      return fileAnswer(fileNamed.get(question.value), question.value);
    case "fileContainingSymbol":
      return fileAnswer(fileOfSymbol(registry, question.value), question.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      const extension = extensionsOf(registry, containingType).find(
        ({ number }) => number === extensionNumber,
      );
      return fileAnswer(extension?.file, `${containingType} ${extensionNumber}`);
    }
    case "allExtensionNumbersOfType": {
      const value = create(ExtensionNumberResponseSchema, {
        baseTypeName: question.value,
        extensionNumber: extensionsOf(registry, question.value).map(({ number }) => number),
      });
      return { case: "allExtensionNumbersResponse", value };
    }
    default:
      return failure(Code.InvalidArgument, "the reflection request has no question");
  }
}

/** A symbol may also be a method, a field or an enum value: its parent's file has it. */
function fileOfSymbol(registry: Registry, symbol: string): DescFile | undefined {
  const desc = registry.get(symbol) ?? registry.get(symbol.slice(0, symbol.lastIndexOf(".")));
  return desc?.file;
}

function extensionsOf(registry: Registry, typeName: string) {
  return [...registry].filter(
    (desc) => desc.kind === "extension" && desc.extendee.typeName === typeName,
  ) as Extract<ReturnType<Registry["get"]>, { kind: "extension" }>[];
}

/** File with its imports, which clients would request next. */
function fileAnswer(file: DescFile | undefined, asked: string): Answer {
  if (file === undefined) return failure(Code.NotFound, `there is no ${asked.slice(0, 255)} here`);
  const files = new Set<DescFile>();
  collect(file, files);
  const fileDescriptorProto = [...files].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  const value = create(FileDescriptorResponseSchema, { fileDescriptorProto });
  return { case: "fileDescriptorResponse", value };
}

function failure(errorCode: Code, errorMessage: string): Answer {
  const value = create(ErrorResponseSchema, { errorCode, errorMessage });
  return { case: "errorResponse", value };
}
