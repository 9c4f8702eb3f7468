//! Properties of the way through JSON.

use super::*;
use crate::provider::json_repair;
use proptest::prelude::*;

fn json_value() -> impl Strategy<Value = Value> {
    // Whole doubles are written like integers.
    let is_plain = |x: &f64| x.is_finite() && (x.fract() != 0.0 || x.abs() > 9_007_199_254_740_992.0);
    let double = prop_oneof![any::<f64>(), (-40i32..40).prop_map(|e| 10f64.powi(e))].prop_filter("whole", is_plain);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![double, Just(-0.0)].prop_map(|x| json!(x)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            // A list whose names are all empty has none.
            proptest::collection::vec(("[^\u{0}]{1,5}", inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Any vector or list, with NA, odd names and classes.
fn host_value() -> impl Strategy<Value = HostValue> {
    fn na<T: std::fmt::Debug + Clone + 'static>(
        one: impl Strategy<Value = T> + 'static,
    ) -> BoxedStrategy<Vec<Option<T>>> {
        proptest::collection::vec(proptest::option::of(one), 0..4).boxed()
    }
    let leaf = prop_oneof![
        Just(HostData::Null),
        na(any::<bool>()).prop_map(HostData::Logical),
        na(any::<i64>()).prop_map(HostData::Integer),
        na(any::<f64>()).prop_map(HostData::Double),
        na(any::<String>()).prop_map(HostData::Character),
        na("[0-9]{4}-[0-9]{2}".boxed()).prop_map(HostData::Encoded),
        Just(HostData::Function(Signature::new([("x", true)]))),
        Just(HostData::Opaque(Opaque { kind: "environment".into(), length: 3 })),
    ];
    let marked = |data: BoxedStrategy<HostData>| {
        let names = proptest::option::of(proptest::collection::vec("[ab]{0,1}", 0..5));
        let class = prop_oneof![Just(""), Just("AsIs"), Just("data.frame"), Just("matrix")];
        (data, names, class).prop_map(|(data, names, class)| {
            let class = if class.is_empty() { vec![] } else { vec![class.to_owned()] };
            HostValue { data, names, class }
        })
    };
    marked(leaf.boxed()).prop_recursive(4, 40, 4, move |inner| {
        marked(proptest::collection::vec(inner, 0..4).prop_map(HostData::List).boxed())
    })
}

proptest! {
    #[test]
    fn what_json_holds_comes_back(value in json_value()) {
        prop_assert_eq!(HostValue::from_json(&value).to_json(), Ok(value.clone()));
        let text = value.to_string();
        let read: Value = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn whatever_is_encoded_can_be_read(v in host_value()) {
        match v.to_json() {
            Ok(Value::Null) => {}
            Ok(value) => {
                let text = value.to_string();
                let clean = text.contains("\\u0000") || text.contains('\0');
                prop_assert!(clean || json_repair::parse(&text) == Ok(value), "{}", text);
            }
            Err(e) => prop_assert!(!e.problem.is_empty()),
        }
    }

    #[test]
    fn doubles_keep_every_bit(bits: u64) {
        let x = f64::from_bits(bits);
        prop_assume!(x.is_finite());
        let text = HostValue::from(x).to_json().map(|v| v.to_string()).unwrap_or_default();
        prop_assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(bits));
    }
}
