// The page's content: JSON whose references to blocks of numbers are replaced by typed arrays.

const types = { f4: Float32Array, f8: Float64Array };

export async function load() {
  const bytes = await unpack(document.getElementById("data").textContent);
  return JSON.parse(document.getElementById("page").textContent, (key, value) => {
    if (value?.block) return new types[value.block](bytes, value.offset, value.length);
    if (value?.dt) return Float64Array.from({ length: value.n }, (_, i) => value.t0 + i * value.dt);
    return value;
  });
}

async function unpack(text) {
  const characters = atob(text);
  const packed = new Uint8Array(characters.length);
  for (let k = 0; k < packed.length; k++) packed[k] = characters.charCodeAt(k);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
