import type {
  DescriptorProto,
  EnumDescriptorProto,
  FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import type { Comments } from "./schema.ts";

/**
 * The comments of services, methods, messages, fields and enums, by full name in alphabetical order.
 * Empty for files without source information.
 */
export function readComments(files: readonly FileDescriptorProto[]): Comments {
  const comments: Record<string, string> = {};
  for (const file of files) {
    const said = new Map(
      (file.sourceCodeInfo?.location ?? []).map((one) => [
        one.path.join("."),
        unwrapped(one.leadingComments.replace(/^ /gm, "").trim()),
      ]),
    );
    const note = (name: string, path: string): void => {
      const text = said.get(path);
      if (text) comments[name] = text;
    };
    const noteEnum = ({ name, value }: EnumDescriptorProto, scope: string, path: string): void => {
      note(`${scope}.${name}`, path);
      // Enum values are in the scope of their enum's parent (proto3, "Enumerations").
      for (const [index, one] of value.entries())
        note(`${scope}.${one.name}`, `${path}.2.${index}`);
    };
    const noteMessage = (message: DescriptorProto, scope: string, path: string): void => {
      const name = `${scope}.${message.name}`;
      note(name, path);
      for (const [index, one] of message.field.entries())
        note(`${name}.${one.name}`, `${path}.2.${index}`);
      for (const [index, one] of message.nestedType.entries())
        if (!one.options?.mapEntry) noteMessage(one, name, `${path}.3.${index}`);
      for (const [index, one] of message.enumType.entries())
        noteEnum(one, name, `${path}.4.${index}`);
    };
    for (const [index, one] of file.messageType.entries())
      noteMessage(one, file.package, `4.${index}`);
    for (const [index, one] of file.enumType.entries()) noteEnum(one, file.package, `5.${index}`);
    for (const [index, service] of file.service.entries()) {
      const name = `${file.package}.${service.name}`;
      note(name, `6.${index}`);
      for (const [at, method] of service.method.entries())
        note(`${name}.${method.name}`, `6.${index}.2.${at}`);
    }
  }
  return Object.fromEntries(
    Object.entries(comments).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** One line per paragraph and list item. */
function unwrapped(text: string): string {
  return text.replace(/(?<!\n)\n(?!\n|- )/g, " ");
}
