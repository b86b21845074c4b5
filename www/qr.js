// An address as a QR code: SVG, black on white, with its quiet zone. The library is bundled.

const SVG = "http://www.w3.org/2000/svg";
/** Width of the quiet zone in modules, as in the standard. */
const QUIET = 4;
const library = document.querySelector("meta[name=hushgrad-qr-library]")?.content ?? "./lean_qr.js";
const { correction, generate } = await import(new URL(library, document.baseURI).href);

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Returns the QR code of an address; null if it is too long for one. */
export function code(address) {
  let bits;
  try {
    bits = generate(address, { minCorrectionLevel: correction.M });
  } catch {
    return null;
  }
  let path = "";
  for (let y = 0; y < bits.size; y += 1) {
    for (let x = 0; x < bits.size; x += 1) if (bits.get(x, y)) path += `M${x} ${y}h1v1h-1z`;
  }
  const [start, size] = [-QUIET, bits.size + 2 * QUIET];
  const picture = element("svg", { class: "qr", viewBox: `${start} ${start} ${size} ${size}`, role: "img", "shape-rendering": "crispEdges" });
  picture.setAttribute("aria-label", "QR code of the address");
  picture.append(element("rect", { x: start, y: start, width: size, height: size, fill: "#ffffff" }), element("path", { d: path, fill: "#000000" }));
  return picture;
}
